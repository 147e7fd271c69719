// What becomes of ended attempts: written together, everything that waits in one statement, and
// tried again while the database is away.
import { Deferred, Effect, FiberSet, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { completeAttempts, type EndedAttempt } from "../domain/store/deliveries.ts"

interface Waiting {
  readonly ended: EndedAttempt
  readonly written: Deferred.Deferred<Completed>
}

export interface Completed {
  /** The next one of its commitment waits in the outbox for the end of this one. */
  readonly isFollowed: boolean
}

const MOST_AT_ONCE = 500
const AGAIN = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("1 second")])

/** Answers a function that completes an attempt and waits until that is durable. */
export const makeCompletions = Effect.gen(function* () {
  const services = yield* Effect.context<SqlClient.SqlClient>()
  const fibers = yield* FiberSet.make()
  let waiting: Array<Waiting> = []
  let writing = false

  const write = Effect.fnUntraced(function* (batch: ReadonlyArray<Waiting>) {
    const written = yield* completeAttempts(batch.map(({ ended }) => ended)).pipe(
      Effect.sandbox,
      Effect.tapError((cause) => Effect.logWarning("Attempts could not be logged yet", cause)),
      Effect.retry(AGAIN),
      Effect.orDie
    )
    const followed = new Set(written.flatMap((row) => (row.followed ? [row.id] : [])))
    for (const { ended, written: done } of batch) {
      Deferred.doneUnsafe(done, Effect.succeed({ isFollowed: followed.has(ended.id) }))
    }
  })

  const drain = Effect.gen(function* () {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST_AT_ONCE)
      waiting = waiting.slice(MOST_AT_ONCE)
      yield* write(batch)
    }
    writing = false
  }).pipe(Effect.provideContext(services))

  return Effect.fnUntraced(function* (ended: EndedAttempt) {
    const written = Deferred.makeUnsafe<Completed>()
    waiting.push({ ended, written })
    if (!writing) {
      writing = true
      yield* FiberSet.run(fibers, drain)
    }
    return yield* Deferred.await(written)
  })
})
