// What a service does now and then for everybody: expired idempotency keys are removed, in small
// batches, by whichever replica gets to the rows first.
import { Effect, Layer } from "effect"
import { LedgerClock } from "./ledgerClock.ts"
import { deleteExpiredAnswers } from "./store/keptAnswers.ts"

const INTERVAL = "10 minutes"
const BATCH_ROWS = 1_000

/** Removes every kept answer that has expired; answers how many there were. */
export const removeExpiredAnswers = Effect.gen(function* () {
  const now = yield* (yield* LedgerClock).now
  let removed = 0
  let batch: number
  do {
    batch = yield* deleteExpiredAnswers(now, BATCH_ROWS)
    removed += batch
  } while (batch === BATCH_ROWS)
  return removed
})

export const layer = Layer.effectDiscard(
  removeExpiredAnswers.pipe(
    Effect.catchCause((cause) => Effect.logDebug("Expired keys were not removed", cause)),
    Effect.delay(INTERVAL),
    Effect.forever,
    Effect.forkScoped
  )
)
