// Tables webhook_events and webhook_deliveries, as the transaction of a move writes them.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { integers, texts, time } from "./columns.ts"

export interface NewEvent {
  readonly id: string
  readonly type: string
  readonly seq: number
  readonly commitmentId: string
  /** The bytes that every attempt sends. */
  readonly payload: string
}

export interface NewDelivery {
  readonly id: string
  readonly eventId: string
  readonly endpointId: string
  readonly commitmentId: string
  readonly seq: number
  /** Null when this replica cannot start it soon. */
  readonly claimToken: string | null
}

/**
 * Answers the deliveries that are claimed for this replica: those it asked for, unless an earlier event of
 * the same commitment still waits for its first attempt on another replica, or on none. `follows`: one waits
 * on this replica, which may give that one back before this transaction is committed.
 */
export const insertOutbox = Effect.fnUntraced(function* (outbox: {
  readonly workspaceId: string
  readonly events: ReadonlyArray<NewEvent>
  readonly deliveries: ReadonlyArray<NewDelivery>
  readonly replicaId: string
  readonly now: number
  readonly claimedUntil: number
}) {
  const sql = yield* SqlClient.SqlClient
  const { deliveries, events, workspaceId } = outbox
  yield* sql`
    insert into webhook_events (workspace_id, id, type, seq, commitment_id, payload, created_at)
    select ${workspaceId}::uuid, id, type, seq, commitment_id, payload, ${time(outbox.now)}
    from unnest(
      ${texts(events.map((event) => event.id))},
      ${texts(events.map((event) => event.type))},
      ${integers(events.map((event) => event.seq))},
      ${texts(events.map((event) => event.commitmentId))},
      ${texts(events.map((event) => event.payload))}
    ) as event (id, type, seq, commitment_id, payload)`
  // With a limit, and not as `exists`, which might be answered by reading all that is pending.
  const earlier = sql`
    select true from webhook_deliveries earlier
    where earlier.workspace_id = ${workspaceId}::uuid
      and earlier.endpoint_id = delivery.endpoint_id
      and earlier.commitment_id = delivery.commitment_id
      and earlier.status = 'pending' and earlier.attempts = 0`
  return yield* sql<{ readonly id: string; readonly follows: boolean }>`
    with wanted as materialized (
      select id, endpoint_id, event_id, commitment_id, seq, (${earlier} limit 1) is not null as follows,
        case when (
          ${earlier} and earlier.claimed_by is distinct from ${outbox.replicaId} limit 1
        ) is null then claim_token end as claim_token
      from unnest(
        ${texts(deliveries.map((delivery) => delivery.id))},
        ${texts(deliveries.map((delivery) => delivery.endpointId))},
        ${texts(deliveries.map((delivery) => delivery.eventId))},
        ${texts(deliveries.map((delivery) => delivery.commitmentId))},
        ${integers(deliveries.map((delivery) => delivery.seq))},
        ${texts(deliveries.map((delivery) => delivery.claimToken))}
      ) as delivery (id, endpoint_id, event_id, commitment_id, seq, claim_token)
    ), inserted as (
      insert into webhook_deliveries
        (workspace_id, id, endpoint_id, event_id, commitment_id, seq, status, attempts, due_at,
         claimed_by, claim_token, claimed_until, created_at)
      select ${workspaceId}::uuid, id, endpoint_id, event_id, commitment_id, seq, 'pending', 0,
        ${time(outbox.now)},
        case when claim_token is not null then ${outbox.replicaId} end, claim_token,
        case when claim_token is not null then ${time(outbox.claimedUntil)} end, ${time(outbox.now)}
      from wanted
    )
    select id, follows from wanted where claim_token is not null`
})
