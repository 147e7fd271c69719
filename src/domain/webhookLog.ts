// The workspace's webhook log: what was sent to whom, every attempt, and sending something again.
// «Failed deliveries are visible in the workspace webhook logs.»
import { Array, Effect } from "effect"
import { InvalidRequest, NotFound, ValidationError } from "./errors.ts"
import { Ids, isDeliveryId } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { LIMITS, quote } from "./limits.ts"
import {
  type DeliveryStatus,
  failedSince,
  findDelivery,
  insertResends,
  type LoggedDelivery,
  listDeliveries,
  readDelivery
} from "./store/deliveryLog.ts"
import { orServerError } from "./store/failures.ts"
import { parseIso, toIso, toIsoOrNull } from "./time.ts"
import { requireWebhook, underHeadLock } from "./webhookCare.ts"

export interface AttemptView {
  readonly attempt: number
  readonly started_at: string
  readonly duration_ms: number
  readonly status: number | null
  /** Why it failed; null for a 2xx answer. */
  readonly failure: string | null
  /** What went wrong, in the words of the layer where it did; null when the status tells it all. */
  readonly detail: string | null
  /** The first bytes of the answer. */
  readonly response: string
}

export interface DeliveryView {
  readonly id: string
  readonly webhook_id: string
  readonly event_id: string
  readonly commitment_id: string
  readonly status: DeliveryStatus
  readonly attempts: ReadonlyArray<AttemptView>
  readonly next_attempt_at: string | null
  readonly created_at: string
  readonly ended_at: string | null
  readonly payload: string
}

const deliveryView = (delivery: LoggedDelivery): DeliveryView => ({
  id: delivery.id,
  webhook_id: delivery.endpointId,
  event_id: delivery.eventId,
  commitment_id: delivery.commitmentId,
  status: delivery.status,
  attempts: delivery.attempts.map((attempt) => ({
    attempt: attempt.attempt,
    started_at: toIso(attempt.startedAt),
    duration_ms: attempt.durationMillis,
    status: attempt.httpStatus,
    failure: attempt.failure,
    detail: attempt.detail,
    response: attempt.response
  })),
  next_attempt_at: toIsoOrNull(delivery.nextAttemptAt),
  created_at: toIso(delivery.createdAt),
  ended_at: toIsoOrNull(delivery.endedAt),
  payload: delivery.payload
})

const unknownDelivery = (id: string) =>
  new NotFound({ message: `There is no delivery ${quote(id)}.` })

/** One delivery of the log, with every attempt. Fails with `NOT_FOUND` when the log has no such delivery. */
export const getWebhookDelivery = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const delivery = isDeliveryId(id)
    ? yield* orServerError(readDelivery(workspaceId, id))
    : undefined
  if (delivery === undefined) return yield* unknownDelivery(id)
  return deliveryView(delivery)
})

/** The log, newest first, with every attempt. */
export const listWebhookDeliveries = Effect.fnUntraced(function* (
  workspaceId: string,
  filter: {
    readonly webhookId?: string | undefined
    readonly status?: DeliveryStatus | undefined
    readonly limit?: number | undefined
    readonly offset?: number | undefined
  }
) {
  const deliveries = yield* orServerError(
    listDeliveries(workspaceId, {
      endpointId: filter.webhookId,
      status: filter.status,
      limit: Math.min(filter.limit ?? LIMITS.pageSizeDefault, LIMITS.pageSize),
      offset: filter.offset ?? 0
    })
  )
  // What was sent to a webhook stays in the log when that is removed.
  if (deliveries.length === 0 && filter.webhookId !== undefined) {
    yield* requireWebhook(workspaceId, filter.webhookId)
  }
  return deliveries.map(deliveryView)
})

/**
 * The same event once more, with its own retries. Refused while an attempt is pending. `waits`: the webhook
 * is disabled, so that it is sent when the webhook is enabled.
 */
export const resendDelivery = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const change = Effect.gen(function* () {
    const delivery = isDeliveryId(id) ? yield* findDelivery(workspaceId, id) : undefined
    if (delivery === undefined) return yield* unknownDelivery(id)
    const endpoint = yield* requireWebhook(workspaceId, delivery.endpointId)
    const [resent] = yield* resend(workspaceId, [delivery.id])
    if (resent === undefined) {
      const message =
        "This event is still being sent to this webhook: its next attempt is pending. It can be sent again when that delivery has ended."
      return yield* new ValidationError({ message })
    }
    return { delivery_id: resent, waits: !endpoint.enabled }
  })
  return yield* underHeadLock(workspaceId, change)
})

/**
 * Everything that failed for this webhook since a time. Answers the new deliveries' ids, and whether they
 * wait, because the webhook is disabled.
 */
export const resendFailed = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string,
  since: string
) {
  const time = parseIso(since)
  if (time === undefined) {
    const message = `"since" must be an ISO 8601 date or date-time with zone, not ${quote(since)}.`
    return yield* new InvalidRequest({ message })
  }
  yield* requireWebhook(workspaceId, id)
  const failed = yield* orServerError(failedSince(workspaceId, id, time))
  const resendSome = (deliveries: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const endpoint = yield* requireWebhook(workspaceId, id)
      const resent = yield* resend(workspaceId, deliveries)
      return { resent, waits: resent.length > 0 && !endpoint.enabled }
    })
  // The workspace's writes wait for one batch at a time, however many there are.
  const batches = Array.chunksOf(
    failed.map((delivery) => delivery.id),
    RESENT_AT_ONCE
  )
  const done = yield* Effect.forEach(batches, (batch) =>
    underHeadLock(workspaceId, resendSome(batch))
  )
  return {
    delivery_ids: done.flatMap(({ resent }) => resent),
    waits: done.some(({ waits }) => waits)
  }
})

const RESENT_AT_ONCE = 500

const resend = Effect.fnUntraced(function* (
  workspaceId: string,
  deliveries: ReadonlyArray<string>
) {
  if (deliveries.length === 0) return []
  const now = yield* (yield* LedgerClock).now
  const ids = yield* Ids
  const resends = deliveries.map((from) => ({ from, id: ids.next("dlv", now) }))
  const rows = yield* insertResends(workspaceId, resends, now)
  return rows.map((row) => row.id)
})
