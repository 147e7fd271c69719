// What those who run the service can see of the write path. Names are Prometheus names.
import { Effect, Metric } from "effect"
import type { Head } from "./records.ts"

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
