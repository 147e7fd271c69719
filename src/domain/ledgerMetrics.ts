// What those who run the service can see of the write path and of the outbox. Names are Prometheus
// names; what counts attempts is in workers/deliveryMetrics.ts.
import { Effect, Metric } from "effect"
import { LedgerClock } from "./ledgerClock.ts"
import type { Head } from "./records.ts"
import { COUNTED_MOST, readDeliveryBacklog } from "./store/deliveryBacklog.ts"

const batchOperations = Metric.histogram("ledger_batch_operations", {
  description: "Operations performed in one transaction.",
  boundaries: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
})

const timeAhead = Metric.gauge("ledger_time_ahead_seconds", {
  description: "How far ledger time was ahead of the clock after the last batch."
})

export const recordBatch = (operations: number) => Metric.update(batchOperations, operations)

const TOLERATED_MILLISECONDS = 1_000

/** Ledger time only moves forward, so a clock that was set back leaves it ahead for a while. */
export const recordLedgerTime = (head: Head, now: number) => {
  const aheadMillis = Math.max(0, head.lastTime - now)
  const recorded = Metric.update(timeAhead, aheadMillis / 1_000)
  if (aheadMillis <= TOLERATED_MILLISECONDS) return recorded
  return Effect.andThen(
    recorded,
    Effect.logWarning(
      `Ledger time of workspace ${head.workspaceId} is ${aheadMillis} ms ahead of the clock`
    )
  )
}

const pendingDeliveries = Metric.gauge("ledger_deliveries_pending", {
  description: `Deliveries in the database that wait for an attempt, at most ${COUNTED_MOST}.`
})

const deliveryLag = Metric.gauge("ledger_delivery_lag_seconds", {
  description: "For how long the attempt has been due that is due for longest; 0 when none is."
})

/** Looks into the outbox, for all replicas: asked for when somebody reads the metrics. */
export const measureDeliveries = Effect.gen(function* () {
  const now = yield* (yield* LedgerClock).now
  const { oldestDueAt, pending } = yield* readDeliveryBacklog(now)
  yield* Metric.update(pendingDeliveries, pending)
  yield* Metric.update(deliveryLag, oldestDueAt === null ? 0 : (now - oldestDueAt) / 1_000)
})
