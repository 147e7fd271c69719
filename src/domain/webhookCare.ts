// Care of webhooks (D15): who is told, filters, secrets, a test event. Administrators reach this
// through tRPC, operators through the command line. The log is in webhookLog.ts.
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { callbackPayload } from "./callback.ts"
import { InvalidRequest, NotFound } from "./errors.ts"
import { Ids, isWebhookId } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { LIMITS, quote } from "./limits.ts"
import type { CommitmentRecord, WebhookEndpoint } from "./records.ts"
import { cancelPending } from "./store/deliveryLog.ts"
import { orServerError } from "./store/failures.ts"
import { lockHead } from "./store/heads.ts"
import { insertOutbox } from "./store/outbox.ts"
import * as Endpoints from "./store/webhookEndpoints.ts"
import { readWorkspace } from "./store/workspaces.ts"
import { toIso, toIsoOrNull } from "./time.ts"
import { EVENT_TYPES } from "./webhookFields.ts"

export interface WebhookView {
  readonly id: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly states: ReadonlyArray<string>
  readonly enabled: boolean
  /** Until then the secret before the last rotation signs too. */
  readonly previous_secret_until: string | null
  readonly created_at: string
  readonly updated_at: string
}

const webhookView = (endpoint: WebhookEndpoint): WebhookView => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  states: endpoint.states,
  enabled: endpoint.enabled,
  previous_secret_until: toIsoOrNull(endpoint.previousSecret?.until ?? null),
  created_at: toIso(endpoint.createdAt),
  updated_at: toIso(endpoint.updatedAt)
})

/** A strong secret in the form that Standard Webhooks libraries know. */
export const generateWebhookSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`

export const listWebhooks = Effect.fnUntraced(function* (workspaceId: string) {
  return (yield* orServerError(Endpoints.listEndpoints(workspaceId))).map(webhookView)
})

const unknownWebhook = (id: string) =>
  new NotFound({ message: `There is no webhook ${quote(id)}.` })

/** Fails with `NOT_FOUND` when the workspace has no such webhook. */
export const requireWebhook = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const endpoint = isWebhookId(id)
    ? yield* orServerError(Endpoints.findEndpoint(workspaceId, id))
    : undefined
  if (endpoint === undefined) return yield* unknownWebhook(id)
  return endpoint
})

/**
 * Runs in a transaction under the head's lock: no move is being written meanwhile, and nobody else
 * removes the webhook or sends something again.
 */
export const underHeadLock = <A, E, R>(workspaceId: string, change: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    lockHead(workspaceId).pipe(Effect.andThen(change), sql.withTransaction, orServerError)
  )

const CANCELLED_AT_ONCE = 2_000

/**
 * Nothing more is sent to it: what waits is cancelled, and stays in the log. It is disabled first, so that
 * nothing is added, and emptied in batches: the workspace's writes wait for the last one only, however
 * much there is. When this is cut short, the webhook is there, disabled, to be removed again.
 */
export const removeWebhook = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  yield* updateWebhook(workspaceId, id, { enabled: false })
  const now = yield* (yield* LedgerClock).now
  const cancelSome = cancelPending(workspaceId, id, { now, count: CANCELLED_AT_ONCE })
  const cancelAll = Effect.repeat(cancelSome, { until: (count) => count < CANCELLED_AT_ONCE })
  yield* orServerError(cancelAll)
  const change = Effect.gen(function* () {
    const endpoint = yield* requireWebhook(workspaceId, id)
    // What a move has written that had read the webhook before it was disabled.
    yield* cancelAll
    yield* Endpoints.deleteEndpoint(workspaceId, endpoint.id)
  })
  yield* underHeadLock(workspaceId, change)
})

/** Filters and whether it is enabled; what is not given stays. A disabled webhook keeps its retries for later. */
export const updateWebhook = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string,
  change: {
    readonly enabled?: boolean | undefined
    readonly states?: ReadonlyArray<string> | undefined
  }
) {
  yield* requireWebhook(workspaceId, id)
  const now = yield* (yield* LedgerClock).now
  const updated = yield* orServerError(
    Endpoints.changeEndpoint(workspaceId, id, { ...change, now })
  )
  if (updated === undefined) return yield* unknownWebhook(id)
  return webhookView(updated)
})

const HOUR_MILLISECONDS = 60 * 60 * 1000

/** A new secret; the one before it signs too for a while. The answer holds the secret, for the only time. */
export const rotateSecret = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string,
  options: { readonly secret?: string | undefined; readonly overlapHours?: number | undefined }
) {
  yield* requireWebhook(workspaceId, id)
  const secret = options.secret ?? generateWebhookSecret()
  if (secret.trim() === "" || secret.length > LIMITS.webhookSecretCharacters) {
    const message = `A webhook secret must have 1 to ${LIMITS.webhookSecretCharacters} characters.`
    return yield* new InvalidRequest({ message })
  }
  const now = yield* (yield* LedgerClock).now
  const until = now + (options.overlapHours ?? 24) * HOUR_MILLISECONDS
  const rotated = yield* orServerError(
    Endpoints.changeSecret(workspaceId, id, { secret, until, now })
  )
  if (rotated === undefined) return yield* unknownWebhook(id)
  return { ...webhookView(rotated), secret }
})

export interface TestEventReceipt {
  readonly delivery_id: string
  readonly event_id: string
  /** The webhook is disabled: the event is kept, and sent when the webhook is enabled. */
  readonly waits: boolean
}

/** An example callback, as a claim would send it, of a commitment that does not exist. */
export const sendTestEvent = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const event = yield* exampleEvent(workspaceId)
  const now = yield* (yield* LedgerClock).now
  const deliveryId = (yield* Ids).next("dlv", now)
  const { commitmentId, seq } = event
  const change = Effect.gen(function* () {
    const endpoint = yield* requireWebhook(workspaceId, id)
    yield* insertOutbox({
      workspaceId,
      events: [event],
      deliveries: [
        {
          id: deliveryId,
          eventId: event.id,
          endpointId: endpoint.id,
          commitmentId,
          seq,
          claimToken: null
        }
      ],
      replicaId: "",
      now,
      claimedUntil: now
    })
    return endpoint
  })
  const { enabled } = yield* underHeadLock(workspaceId, change)
  const receipt: TestEventReceipt = {
    delivery_id: deliveryId,
    event_id: event.id,
    waits: !enabled
  }
  return receipt
})

const exampleEvent = Effect.fnUntraced(function* (workspaceId: string) {
  const workspace = yield* orServerError(readWorkspace(workspaceId))
  const now = yield* (yield* LedgerClock).now
  const ids = yield* Ids
  const commitment = exampleCommitment(ids.next("cmt", now), now)
  const move = { previousState: "open" as const, commitment, seq: 0, time: now }
  return {
    id: ids.next("evt", now),
    type: EVENT_TYPES[0],
    seq: 0,
    commitmentId: commitment.id,
    payload: callbackPayload({ id: workspaceId, name: workspace?.name ?? "" }, move, [])
  }
})

const exampleCommitment = (id: string, now: number): CommitmentRecord => ({
  id,
  createdSeq: 0,
  title: "Test event: no such commitment exists",
  body: null,
  state: "claimed",
  result: null,
  owner: "test",
  priority: null,
  tags: [],
  meta: {},
  memoryId: null,
  reopened: false,
  approved: false,
  createdAt: now,
  updatedAt: now,
  closedAt: null
})
