// The outbox: in the transaction of a batch, an event for each callback move and a delivery for each
// endpoint that wants it. The rows are the promise; handing over after COMMIT only saves a look.
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { type CallbackMove, callbackPayload } from "./callback.ts"
import type { BatchOutcome } from "./decideBatch.ts"
import { type ClaimedDelivery, DeliveryHandoff, LEASE_MILLISECONDS } from "./deliveryHandoff.ts"
import { Ids } from "./ids.ts"
import type { WebhookEndpoint } from "./records.ts"
import { readEvidence } from "./store/evidence.ts"
import { insertOutbox, type NewDelivery, type NewEvent } from "./store/outbox.ts"
import { listEndpoints } from "./store/webhookEndpoints.ts"
import { readWorkspace } from "./store/workspaces.ts"
import { EVENT_TYPES } from "./webhookFields.ts"

/** What the batch has promised and this replica may start at once. */
export interface Handover {
  readonly deliveries: ReadonlyArray<ClaimedDelivery>
  /** There is more in the outbox than these. */
  readonly more: boolean
}

const NOTHING: Handover = { deliveries: [], more: false }

/**
 * Writes what the moves of a batch promise. Endpoints are read here, under the head's lock, so that
 * one registered on another replica gets the next move.
 */
export const writeOutbox = Effect.fnUntraced(function* (outcome: BatchOutcome, now: number) {
  if (outcome.moves.length === 0) return NOTHING
  const { workspaceId } = outcome.head
  const endpoints = yield* listEndpoints(workspaceId)
  const wanted = outcome.moves.flatMap((move) => {
    const receivers = endpoints.filter((endpoint) => wants(endpoint, move))
    return receivers.length === 0 ? [] : [{ move, receivers }]
  })
  if (wanted.length === 0) return NOTHING
  const events = yield* makeEvents(
    workspaceId,
    wanted.map(({ move }) => move)
  )
  const handoff = yield* DeliveryHandoff
  const deliveries = yield* makeDeliveries(
    handoff,
    wanted.map(({ receivers }, index) => ({ event: events[index], receivers })),
    now
  )
  const claimed = yield* insertOutbox({
    workspaceId,
    events,
    deliveries,
    replicaId: handoff.replicaId,
    now,
    claimedUntil: now + LEASE_MILLISECONDS
  })
  return toHandover(workspaceId, { endpoints, events, deliveries, claimed })
})

const wants = (endpoint: WebhookEndpoint, { commitment }: CallbackMove) =>
  endpoint.enabled &&
  endpoint.events.includes(EVENT_TYPES[0]) &&
  (endpoint.states.length === 0 || endpoint.states.includes(commitment.state))

const makeEvents = Effect.fnUntraced(function* (
  workspaceId: string,
  moves: ReadonlyArray<CallbackMove>
) {
  const ids = yield* Ids
  const workspace = yield* readWorkspace(workspaceId)
  const evidence = yield* readEvidence(
    workspaceId,
    moves.map(({ commitment }) => commitment.id)
  )
  return moves.map((move): NewEvent => {
    // A later operation of the same batch may have brought more: that is not of this moment.
    const present = evidence.filter(
      ({ commitmentId, seq }) => commitmentId === move.commitment.id && seq <= move.seq
    )
    return {
      id: ids.next("evt", move.time),
      type: EVENT_TYPES[0],
      seq: move.seq,
      commitmentId: move.commitment.id,
      payload: callbackPayload({ id: workspaceId, name: workspace?.name ?? "" }, move, present)
    }
  })
})

const makeDeliveries = Effect.fnUntraced(function* (
  handoff: DeliveryHandoff["Service"],
  wanted: ReadonlyArray<{
    readonly event: NewEvent | undefined
    readonly receivers: ReadonlyArray<WebhookEndpoint>
  }>,
  now: number
) {
  const ids = yield* Ids
  const room = new Map<string, number>()
  return wanted.flatMap(({ event, receivers }) =>
    event === undefined
      ? []
      : receivers.map((endpoint): NewDelivery => {
          const left = room.get(endpoint.id) ?? handoff.room(endpoint.id)
          room.set(endpoint.id, left - 1)
          return {
            id: ids.next("dlv", now),
            eventId: event.id,
            endpointId: endpoint.id,
            commitmentId: event.commitmentId,
            seq: event.seq,
            claimToken: left > 0 ? randomUUID() : null
          }
        })
  )
})

const toHandover = (
  workspaceId: string,
  written: {
    readonly endpoints: ReadonlyArray<WebhookEndpoint>
    readonly events: ReadonlyArray<NewEvent>
    readonly deliveries: ReadonlyArray<NewDelivery>
    readonly claimed: ReadonlyArray<{ readonly id: string; readonly follows: boolean }>
  }
): Handover => {
  const payloads = new Map(written.events.map((event) => [event.id, event.payload]))
  const endpoints = new Map(written.endpoints.map((endpoint) => [endpoint.id, endpoint]))
  const claimed = new Map(written.claimed.map(({ follows, id }) => [id, follows]))
  const own = written.deliveries.flatMap((delivery): ReadonlyArray<ClaimedDelivery> => {
    const { claimToken, endpointId, ...rest } = delivery
    const endpoint = endpoints.get(endpointId)
    const payload = payloads.get(delivery.eventId)
    if (claimToken === null || endpoint === undefined || payload === undefined) return []
    const follows = claimed.get(delivery.id)
    if (follows === undefined) return []
    return [{ ...rest, workspaceId, endpoint, attempts: 0, payload, claimToken, follows }]
  })
  return { deliveries: own, more: own.length < written.deliveries.length }
}
