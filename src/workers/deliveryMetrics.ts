// What those who run the service can see of the attempts of this replica. Names are Prometheus names.
import { Effect, Metric } from "effect"
import type { EndedAttempt } from "../domain/store/deliveries.ts"

const attempts = Metric.counter("ledger_delivery_attempts_total", {
  description: "Attempts of this replica, by what became of the delivery.",
  incremental: true
})

const byStatus = {
  delivered: Metric.withAttributes(attempts, { outcome: "delivered" }),
  pending: Metric.withAttributes(attempts, { outcome: "to_be_retried" }),
  failed: Metric.withAttributes(attempts, { outcome: "failed" })
} satisfies Record<EndedAttempt["status"], unknown>

const seconds = Metric.histogram("ledger_delivery_attempt_seconds", {
  description:
    "How long the attempts of this replica took, from the dial to the end of the answer.",
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

export const recordAttempt = ({ durationMillis, status }: EndedAttempt) =>
  Effect.andThen(Metric.update(byStatus[status], 1), Metric.update(seconds, durationMillis / 1_000))
