// What becomes of ended attempts: written together, everything that waits in one statement, and
// tried again while the database is away.
import { Deferred, Effect, FiberSet, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { completeAttempts, type EndedAttempt } from "../domain/store/deliveries.ts"

interface Waiting {
  readonly ended: EndedAttempt
  /** Whether the claim still held, so that the log has this attempt. */
  readonly written: Deferred.Deferred<boolean>
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
    for (const { ended, written: done } of batch) {
      Deferred.doneUnsafe(done, Effect.succeed(written.has(ended.id)))
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
    const written = Deferred.makeUnsafe<boolean>()
    waiting.push({ ended, written })
    if (!writing) {
      writing = true
      yield* FiberSet.run(fibers, drain)
    }
    return yield* Deferred.await(written)
  })
})
