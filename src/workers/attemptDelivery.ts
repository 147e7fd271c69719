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
  const { now } = yield* LedgerClock
  const { send } = yield* WebhookSender
  const startedAt = yield* now
  const outcome = yield* send(requestOf(delivery, startedAt))
  const number = delivery.attempts + 1
  const delay = outcome.failure === null ? undefined : yield* delayAfter(schedule, number)
  return endedAttempt(delivery, outcome, { startedAt, endedAt: yield* now, delay })
})

const requestOf = ({ attempts, endpoint, eventId, payload }: ClaimedDelivery, now: number) => {
  const headers = signCallback({
    body: payload,
    secrets: secretsAt(endpoint, now),
    webhookId: eventId,
    timestampSeconds: Math.floor(now / 1_000)
  })
  headers["Ledger-Attempt"] = String(attempts + 1)
  return { url: endpoint.url, body: payload, headers }
}

/** The current secret first; after a rotation the one before it, for a while. */
const secretsAt = ({ previousSecret, secret }: ClaimedDelivery["endpoint"], now: number) =>
  previousSecret !== null && previousSecret.until > now ? [secret, previousSecret.secret] : [secret]

const DETAIL_CHARACTERS = 300

/**
 * A detail may quote what the receiver has sent, such as the names in its certificate. PostgreSQL stores
 * no NUL and no half of a surrogate pair, which a cut may leave too.
 */
const storableDetail = (detail: string | null): string | null =>
  detail?.slice(0, DETAIL_CHARACTERS).replaceAll("\0", "\uFFFD").toWellFormed().trim() || null

/** «A delivery fails on a non-2xx response or a network error.» */
const endedAttempt = (
  delivery: ClaimedDelivery,
  outcome: AttemptOutcome,
  times: {
    readonly startedAt: number
    readonly endedAt: number
    /** Milliseconds until the next attempt, if this one failed and there is another. */
    readonly delay: number | undefined
  }
): EndedAttempt => ({
  workspaceId: delivery.workspaceId,
  id: delivery.id,
  claimToken: delivery.claimToken,
  attempt: delivery.attempts + 1,
  startedAt: times.startedAt,
  durationMillis: Math.round(outcome.durationMillis),
  httpStatus: outcome.status,
  failure: outcome.failure,
  detail: storableDetail(outcome.detail),
  response: outcome.responseText,
  status: outcome.failure === null ? "delivered" : times.delay === undefined ? "failed" : "pending",
  delayMillis: times.delay,
  dueAt: times.endedAt + (times.delay ?? 0)
})
