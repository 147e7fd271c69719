// Tables webhook_deliveries and webhook_attempts, as people read them: the workspace's webhook log, and
// sending something again. Retention removes what is old, in small batches.
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { lowestId } from "../ids.ts"
import { millisecondsOrNull, texts, time } from "./columns.ts"

export type DeliveryStatus = "pending" | "delivered" | "failed" | "cancelled"

export interface LoggedAttempt {
  readonly attempt: number
  readonly startedAt: number
  readonly durationMillis: number
  readonly httpStatus: number | null
  readonly failure: string | null
  readonly detail: string | null
  readonly response: string
}

export interface LoggedDelivery {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly commitmentId: string
  readonly status: DeliveryStatus
  readonly attempts: ReadonlyArray<LoggedAttempt>
  /** When the next attempt may start; null once it has ended. */
  readonly nextAttemptAt: number | null
  readonly createdAt: number
  readonly endedAt: number | null
  readonly payload: string
}

export interface DeliveryFilter {
  readonly endpointId: string | undefined
  readonly status: DeliveryStatus | undefined
  readonly limit: number
  readonly offset: number
}

interface LogRow {
  readonly id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly commitment_id: string
  readonly status: DeliveryStatus
  readonly due_at: Date
  readonly created_at: Date
  readonly ended_at: Date | null
  readonly payload: string
  readonly log: string
}

const toLogged = (row: LogRow): LoggedDelivery => ({
  id: row.id,
  endpointId: row.endpoint_id,
  eventId: row.event_id,
  commitmentId: row.commitment_id,
  status: row.status,
  attempts: JSON.parse(row.log) as ReadonlyArray<LoggedAttempt>,
  nextAttemptAt: row.status === "pending" ? row.due_at.getTime() : null,
  createdAt: row.created_at.getTime(),
  endedAt: millisecondsOrNull(row.ended_at),
  payload: row.payload
})

/** These deliveries, with their payload and every attempt. */
const loggedDeliveries = (sql: SqlClient.SqlClient, deliveries: Statement.Fragment) => sql`
  select delivery.*, event.payload,
    (
      select coalesce(json_agg(json_build_object(
        'attempt', attempt.attempt,
        'startedAt', (extract(epoch from attempt.started_at) * 1000)::bigint,
        'durationMillis', attempt.duration_ms, 'httpStatus', attempt.http_status,
        'failure', attempt.failure, 'detail', attempt.detail, 'response', attempt.response
      ) order by attempt.attempt), '[]')::text
      from webhook_attempts attempt
      where attempt.workspace_id = delivery.workspace_id and attempt.delivery_id = delivery.id
    ) as log
  from (${deliveries}) delivery
  join webhook_events event
    on event.workspace_id = delivery.workspace_id and event.id = delivery.event_id`

/** Newest first. The page is cut before anything is joined: what is before it is not read in full. */
export const listDeliveries = Effect.fnUntraced(function* (
  workspaceId: string,
  filter: DeliveryFilter
) {
  const sql = yield* SqlClient.SqlClient
  const { endpointId, status } = filter
  const conditions = sql.and([
    sql`delivery.workspace_id = ${workspaceId}::uuid`,
    ...(endpointId === undefined ? [] : [sql`delivery.endpoint_id = ${endpointId}`]),
    ...(status === undefined ? [] : [sql`delivery.status = ${status}`])
  ])
  const page = sql`
    select delivery.* from webhook_deliveries delivery
    where ${conditions}
    order by delivery.id desc
    limit ${filter.limit} offset ${filter.offset}`
  const rows = yield* sql<LogRow>`${loggedDeliveries(sql, page)} order by delivery.id desc`
  return rows.map(toLogged)
})

/** Undefined when the workspace has no such delivery in its log. */
export const readDelivery = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  const one = sql`
    select delivery.* from webhook_deliveries delivery
    where delivery.workspace_id = ${workspaceId}::uuid and delivery.id = ${id}`
  const rows = yield* sql<LogRow>`${loggedDeliveries(sql, one)}`
  return rows.map(toLogged)[0]
})

/** Deliveries that can be sent again: by id, or all that failed since a time. */
export interface Resendable {
  readonly id: string
  readonly endpointId: string
}

export const findDelivery = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<Resendable>`
    select id, endpoint_id as "endpointId"
    from webhook_deliveries where workspace_id = ${workspaceId}::uuid and id = ${id}`
  return rows[0]
})

/** What failed since then, and has not arrived since by being sent again. */
export const failedSince = Effect.fnUntraced(function* (
  workspaceId: string,
  endpointId: string,
  since: number
) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<Resendable>`
    select id, endpoint_id as "endpointId"
    from webhook_deliveries delivery
    where workspace_id = ${workspaceId}::uuid and endpoint_id = ${endpointId}
      and status = 'failed' and ended_at >= ${time(since)}
      and not exists (
        select 1 from webhook_deliveries later
        where later.workspace_id = delivery.workspace_id and later.event_id = delivery.event_id
          and later.endpoint_id = delivery.endpoint_id and later.status = 'delivered'
      )
    order by seq`
})

/**
 * A new delivery of the same event to the same endpoint. Answers the new ids; what already has a
 * pending delivery, or whose endpoint is gone, is left out. Under the head's lock, so that no two ask
 * at the same time.
 */
export const insertResends = Effect.fnUntraced(function* (
  workspaceId: string,
  resends: ReadonlyArray<{ readonly from: string; readonly id: string }>,
  now: number
) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly id: string }>`
    insert into webhook_deliveries
      (workspace_id, id, endpoint_id, event_id, commitment_id, seq, status, attempts, due_at, created_at)
    select distinct on (old.endpoint_id, old.event_id)
      old.workspace_id, resend.new_id, old.endpoint_id, old.event_id, old.commitment_id, old.seq,
      'pending', 0, ${time(now)}, ${time(now)}
    from unnest(
      ${texts(resends.map((resend) => resend.from))}, ${texts(resends.map((resend) => resend.id))}
    ) as resend (old_id, new_id)
    join webhook_deliveries old
      on old.workspace_id = ${workspaceId}::uuid and old.id = resend.old_id
    join webhook_endpoints endpoint
      on endpoint.workspace_id = old.workspace_id and endpoint.id = old.endpoint_id
    where not exists (
      select 1 from webhook_deliveries pending
      where pending.workspace_id = old.workspace_id and pending.event_id = old.event_id
        and pending.endpoint_id = old.endpoint_id and pending.status = 'pending'
    )
    returning id`
})

/**
 * An endpoint that is removed gets nothing more: what waits for it is cancelled, so many at once. Answers
 * how many that were.
 */
export const cancelPending = Effect.fnUntraced(function* (
  workspaceId: string,
  endpointId: string,
  options: { readonly now: number; readonly count: number }
) {
  const sql = yield* SqlClient.SqlClient
  const { count, now } = options
  const rows = yield* sql`
    with few as materialized (
      (select workspace_id, id from webhook_deliveries
       where workspace_id = ${workspaceId}::uuid and endpoint_id = ${endpointId}
         and status = 'pending' and attempts = 0 and seq >= 0
       order by due_at, seq limit ${count})
      union all
      (select workspace_id, id from webhook_deliveries
       where workspace_id = ${workspaceId}::uuid and endpoint_id = ${endpointId}
         and status = 'pending' and attempts > 0
       order by due_at, seq limit ${count})
      limit ${count}
    ), waiting as materialized (
      select delivery.workspace_id, delivery.id
      from webhook_deliveries delivery join few using (workspace_id, id)
      where delivery.status = 'pending'
      order by delivery.id for update of delivery
    )
    update webhook_deliveries delivery
    set status = 'cancelled', ended_at = ${time(now)},
      claimed_by = null, claim_token = null, claimed_until = null
    from waiting
    where delivery.workspace_id = waiting.workspace_id and delivery.id = waiting.id
    returning delivery.id`
  return rows.length
})

/**
 * Removes one small batch of deliveries that ended before `before`, with their attempts, and with their
 * events when no other delivery is of them. Answers how many deliveries that were. What ended before
 * was made before, and ids sort by time: the primary key finds it.
 */
export const deleteEndedDeliveries = Effect.fnUntraced(function* (before: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly workspace_id: string; readonly event_id: string }>`
    with old as materialized (
      select ended.* from workspaces workspace cross join lateral (
        select workspace_id, id, event_id from webhook_deliveries
        where workspace_id = workspace.id and id < ${lowestId("dlv", before)}
          and status <> 'pending' and ended_at < ${time(before)}
        order by id limit ${count} for update skip locked
      ) ended
      limit ${count}
    ), forgotten as (
      delete from webhook_attempts attempt using old
      where attempt.workspace_id = old.workspace_id and attempt.delivery_id = old.id
    )
    delete from webhook_deliveries delivery using old
    where delivery.workspace_id = old.workspace_id and delivery.id = old.id
    returning old.workspace_id, old.event_id`
  if (rows.length === 0) return 0
  yield* sql`
    delete from webhook_events event
    using unnest(
      ${texts(rows.map((row) => row.workspace_id))}, ${texts(rows.map((row) => row.event_id))}
    ) as old (workspace_id, id)
    where event.workspace_id = old.workspace_id::uuid and event.id = old.id
      and not exists (
        select 1 from webhook_deliveries delivery
        where delivery.workspace_id = event.workspace_id and delivery.event_id = event.id
      )`
  return rows.length
})
