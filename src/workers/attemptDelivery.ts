// One attempt of one delivery: signed, sent, and judged: delivered, to be tried again, or failed.
import { Effect, type Schedule } from "effect"
import type { ClaimedDelivery } from "../domain/deliveryHandoff.ts"
import { LedgerClock } from "../domain/ledgerClock.ts"
import type { EndedAttempt } from "../domain/store/deliveries.ts"
import { delayAfter } from "./retryPolicy.ts"
import { type AttemptOutcome, WebhookSender } from "./sendWebhook.ts"
import { signCallback } from "./signature.ts"

/** Sends the stored bytes once. Interrupting aborts the request. */
export const attemptDelivery = Effect.fnUntraced(function* (
  delivery: ClaimedDelivery,
  schedule: Schedule.Schedule<unknown>
) {
  const clock = yield* LedgerClock
  const sender = yield* WebhookSender
  const number = delivery.attempts + 1
  const { endpoint, eventId, payload } = delivery
  const headers = signCallback({
    body: payload,
    secrets: secretsAt(endpoint, yield* clock.now),
    webhookId: eventId,
    timestampSeconds: Math.floor((yield* clock.now) / 1_000)
  })
  const outcome = yield* sender.send({
    url: endpoint.url,
    body: payload,
    headers: { ...headers, "Ledger-Attempt": String(number) }
  })
  const delay = outcome.failure === null ? undefined : yield* delayAfter(schedule, number)
  return endedAttempt(delivery, outcome, { now: yield* clock.now, delay })
})

/** The current secret first; after a rotation the one before it, for a while. */
const secretsAt = ({ previousSecret, secret }: ClaimedDelivery["endpoint"], now: number) =>
  previousSecret !== null && previousSecret.until > now ? [secret, previousSecret.secret] : [secret]

/** «A delivery fails on a non-2xx response or a network error.» */
const endedAttempt = (
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  { delay, now }: { readonly now: number; readonly delay: number | undefined }
): EndedAttempt => ({
  workspaceId: delivery.workspaceId,
  id: delivery.id,
  claimToken: delivery.claimToken,
  attempt: delivery.attempts + 1,
  startedAt: outcome.startedAt,
  durationMillis: Math.round(outcome.durationMillis),
  httpStatus: outcome.status,
  failure: outcome.failure,
  response: outcome.responseText,
  status: outcome.failure === null ? "delivered" : delay === undefined ? "failed" : "pending",
  dueAt: now + (delay ?? 0)
})
