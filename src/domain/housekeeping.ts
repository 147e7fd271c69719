// What a service does now and then for everybody: expired idempotency keys and old deliveries are
// removed, in small batches, by whichever replica gets to the rows first.
import { Context, Duration, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql/SqlError"
import { LedgerClock } from "./ledgerClock.ts"
import { deleteEndedDeliveries } from "./store/deliveryLog.ts"
import { deleteExpiredAnswers } from "./store/keptAnswers.ts"

/** How long a delivery stays in the log after it has ended. */
export const DeliveryRetention = Context.Reference<Duration.Duration>(
  "workspace-ledger/domain/DeliveryRetention",
  { defaultValue: () => Duration.days(30) }
)

const INTERVAL = Duration.minutes(10)
const BATCH_ROWS = 1_000

/** Calls until a batch is not full; answers how many rows there were in all. */
const inBatches = Effect.fnUntraced(function* (
  remove: (count: number) => Effect.Effect<number, SqlError, SqlClient.SqlClient>
) {
  let removed = 0
  let batch: number
  do {
    batch = yield* remove(BATCH_ROWS)
    removed += batch
  } while (batch === BATCH_ROWS)
  return removed
})

/** Removes every kept answer that has expired; answers how many there were. */
export const removeExpiredAnswers = Effect.gen(function* () {
  const now = yield* (yield* LedgerClock).now
  return yield* inBatches((count) => deleteExpiredAnswers(now, count))
})

/** Removes every delivery that ended before the retention began; answers how many there were. */
export const removeOldDeliveries = Effect.gen(function* () {
  const now = yield* (yield* LedgerClock).now
  const before = now - Duration.toMillis(yield* DeliveryRetention)
  return yield* inBatches((count) => deleteEndedDeliveries(before, count))
})

const tidyUp = Effect.andThen(removeExpiredAnswers, removeOldDeliveries)

/** A retention that is shorter than the interval is kept to all the same. */
const pause = Effect.map(DeliveryRetention, (retention) =>
  Duration.clamp(retention, { minimum: Duration.seconds(1), maximum: INTERVAL })
)

export const layer = Layer.effectDiscard(
  pause.pipe(
    Effect.flatMap(Effect.sleep),
    Effect.andThen(tidyUp),
    Effect.catchCause((cause) => Effect.logDebug("Old rows were not removed", cause)),
    Effect.forever,
    Effect.forkScoped
  )
)
