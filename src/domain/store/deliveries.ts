// Table webhook_deliveries, as the delivery workers use it. A claim is a token: renewing, completing
// and giving back all match on it, so that a replica that was away cannot finish another's attempt.
// Only a pending delivery has one.
// Statements that change many rows lock them in id order, because unordered ones deadlock.
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { type ClaimedDelivery, LEASE_MILLISECONDS } from "../deliveryHandoff.ts"
import { integers, texts, time, times } from "./columns.ts"

interface ClaimedRow {
  readonly workspace_id: string
  readonly id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly commitment_id: string
  readonly seq: bigint
  readonly attempts: number
  readonly payload: string
  readonly claim_token: string
  readonly url: string
  readonly secret: string
  readonly previous_secret: string | null
  readonly previous_secret_until: Date | null
}

const claimedColumns = (sql: SqlClient.SqlClient, delivery: "claimed" | "delivery") => {
  const of = sql(delivery)
  return sql`${of}.workspace_id, ${of}.id, ${of}.endpoint_id, ${of}.event_id, ${of}.commitment_id,
    ${of}.seq, ${of}.attempts, ${of}.claim_token, event.payload,
    endpoint.url, endpoint.secret, endpoint.previous_secret, endpoint.previous_secret_until`
}

const toClaimed = (row: ClaimedRow): ClaimedDelivery => ({
  workspaceId: row.workspace_id,
  id: row.id,
  endpoint: {
    id: row.endpoint_id,
    url: row.url,
    secret: row.secret,
    previousSecret:
      row.previous_secret === null || row.previous_secret_until === null
        ? null
        : { secret: row.previous_secret, until: row.previous_secret_until.getTime() }
  },
  eventId: row.event_id,
  commitmentId: row.commitment_id,
  seq: Number(row.seq),
  attempts: row.attempts,
  payload: row.payload,
  claimToken: row.claim_token,
  follows: false
})

/** Deliveries of `endpoint` that are due and that nobody holds, in the order of their time. */
const freeDeliveries = (
  sql: SqlClient.SqlClient,
  { now, perEndpoint }: Pick<Look, "now" | "perEndpoint">,
  which: Statement.Fragment
) => sql`(
  select delivery.workspace_id, delivery.id, delivery.due_at, delivery.seq
  from webhook_deliveries delivery
  where delivery.workspace_id = endpoint.workspace_id and delivery.endpoint_id = endpoint.id
    and delivery.status = 'pending' and ${which}
    and delivery.due_at <= ${time(now)}
    and (delivery.claimed_until is null or delivery.claimed_until <= ${time(now)})
  order by delivery.due_at, delivery.seq
  limit ${perEndpoint}
)`

/**
 * The first attempt for a commitment waits until the one before it, for the same endpoint, has ended: it
 * is the turn of the lowest `seq`. (`not exists` an earlier one would say the same, and be planned as a
 * join that reads the endpoint's whole backlog for each delivery.)
 */
const itsTurn = (sql: SqlClient.SqlClient) => sql`delivery.seq = (
  select min(earlier.seq) from webhook_deliveries earlier
  where earlier.workspace_id = delivery.workspace_id
    and earlier.endpoint_id = delivery.endpoint_id
    and earlier.commitment_id = delivery.commitment_id
    and earlier.status = 'pending' and earlier.attempts = 0
)`

/** One look into the outbox. */
export interface Look {
  readonly replicaId: string
  readonly now: number
  readonly most: number
  /** For one endpoint at the most, so that no endpoint takes all. */
  readonly perEndpoint: number
  /** Endpoints for which this replica has enough to do. */
  readonly busyEndpoints: ReadonlyArray<string>
}

/**
 * Claims deliveries whose time has come and that nobody holds, or whose holder's lease has ended. Each
 * endpoint is asked for a few, first attempts first, so that a long backlog of one costs the others
 * nothing; conditions are said again where rows are locked, because another replica may have moved a
 * row on in between.
 */
export const claimDue = Effect.fnUntraced(function* (look: Look) {
  const sql = yield* SqlClient.SqlClient
  const { most, now, perEndpoint, replicaId } = look
  const token = randomUUID()
  const firstAttempts = freeDeliveries(
    sql,
    look,
    sql`delivery.attempts = 0 and delivery.seq >= 0 and ${itsTurn(sql)}`
  )
  const retries = freeDeliveries(sql, look, sql`delivery.attempts > 0`)
  const rows = yield* sql<ClaimedRow>`
    with due as materialized (
      select candidate.workspace_id, candidate.id
      from webhook_endpoints endpoint cross join lateral (
        ${firstAttempts} union all ${retries} limit ${perEndpoint}
      ) candidate
      where endpoint.enabled and endpoint.id <> all(${texts(look.busyEndpoints)})
      order by candidate.due_at, candidate.seq
      limit ${most * 8}
    ), picked as materialized (
      select delivery.workspace_id, delivery.id
      from webhook_deliveries delivery join due using (workspace_id, id)
      where delivery.status = 'pending' and delivery.due_at <= ${time(now)}
        and (delivery.claimed_until is null or delivery.claimed_until <= ${time(now)})
      order by delivery.id
      limit ${most}
      for update of delivery skip locked
    ), claimed as (
      update webhook_deliveries delivery
      set claimed_by = ${replicaId}, claim_token = ${token},
        claimed_until = ${time(now + LEASE_MILLISECONDS)}
      from picked
      where delivery.workspace_id = picked.workspace_id and delivery.id = picked.id
      returning delivery.*
    )
    select ${claimedColumns(sql, "claimed")}
    from claimed
    join webhook_events event
      on event.workspace_id = claimed.workspace_id and event.id = claimed.event_id
    join webhook_endpoints endpoint
      on endpoint.workspace_id = claimed.workspace_id and endpoint.id = claimed.endpoint_id
    order by claimed.due_at, claimed.seq`
  return rows.map(toClaimed)
})

/**
 * When the next retry becomes due after `now`; null when there is none. First attempts are due from the
 * start; what is due and was not claimed waits for its holder, its turn, or that its endpoint is enabled.
 */
export const nextDueAfter = Effect.fnUntraced(function* (now: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ due_at: Date }>`
    select due_at from webhook_deliveries
    where status = 'pending' and attempts > 0 and due_at > ${time(now)}
    order by due_at limit 1`
  return rows[0]?.due_at.getTime() ?? null
})

/**
 * The delivery as it is now, when its claim still holds, its endpoint still wants it, and no earlier one of
 * its commitment was given back by whoever held both: for one that has waited since it was claimed.
 */
export const refreshClaim = Effect.fnUntraced(function* (claim: Claim) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<ClaimedRow>`
    select ${claimedColumns(sql, "delivery")}
    from webhook_deliveries delivery
    join webhook_events event
      on event.workspace_id = delivery.workspace_id and event.id = delivery.event_id
    join webhook_endpoints endpoint
      on endpoint.workspace_id = delivery.workspace_id and endpoint.id = delivery.endpoint_id
    where delivery.workspace_id = ${claim.workspaceId}::uuid and delivery.id = ${claim.id}
      and delivery.claim_token = ${claim.claimToken}
      and endpoint.enabled and (delivery.attempts > 0 or ${itsTurn(sql)})`
  return rows.map(toClaimed)[0]
})

type Claim = Pick<ClaimedDelivery, "workspaceId" | "id" | "claimToken">

const claimColumns = (claims: ReadonlyArray<Claim>) =>
  [
    texts(claims.map((claim) => claim.workspaceId)),
    texts(claims.map((claim) => claim.id)),
    texts(claims.map((claim) => claim.claimToken))
  ] as const

/** The rows of these claims, locked in id order; without those that were taken over or have ended. */
const claimsThatHold = (sql: SqlClient.SqlClient, claims: ReadonlyArray<Claim>) => {
  const [workspaces, ids, tokens] = claimColumns(claims)
  return sql`
    select delivery.workspace_id, delivery.id
    from webhook_deliveries delivery
    join unnest(${workspaces}, ${ids}, ${tokens}) as claim (workspace_id, id, claim_token)
      on delivery.workspace_id = claim.workspace_id::uuid and delivery.id = claim.id
      and delivery.claim_token = claim.claim_token
    order by delivery.id for update of delivery`
}

/** Answers the ids of the claims that still hold; the others were taken over. */
export const renewClaims = Effect.fnUntraced(function* (claims: ReadonlyArray<Claim>, now: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string }>`
    with held as materialized (
      ${claimsThatHold(sql, claims)}
    )
    update webhook_deliveries delivery
    set claimed_until = ${time(now + LEASE_MILLISECONDS)}
    from held where delivery.workspace_id = held.workspace_id and delivery.id = held.id
    returning delivery.id`
  return new Set(rows.map((row) => row.id))
})

/** «An attempt that shutdown interrupts is given back»: it is due at once, under the same number. */
export const giveBack = Effect.fnUntraced(function* (claims: ReadonlyArray<Claim>) {
  if (claims.length === 0) return
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    with held as materialized (
      ${claimsThatHold(sql, claims)}
    )
    update webhook_deliveries delivery
    set claimed_by = null, claim_token = null, claimed_until = null
    from held where delivery.workspace_id = held.workspace_id and delivery.id = held.id`
})

/** An attempt that has ended, and what becomes of its delivery. */
export interface EndedAttempt extends Claim {
  /** The number of this attempt, from 1. */
  readonly attempt: number
  readonly startedAt: number
  readonly durationMillis: number
  readonly httpStatus: number | null
  readonly failure: string | null
  /** What went wrong, in words; text that PostgreSQL can store. */
  readonly detail: string | null
  readonly response: string
  readonly status: "delivered" | "failed" | "pending"
  /** From its end to the next attempt; undefined when there is none. */
  readonly delayMillis: number | undefined
  /** When the next attempt may start; for an ended delivery, when it ended. */
  readonly dueAt: number
}

/**
 * Logs attempts and moves their deliveries on, all in one statement. Answers those whose claim still
 * held; an attempt under a lost claim changes nothing, because another replica makes it again.
 * `followed`: the next one of its commitment waits in the outbox, and it is its turn now.
 */
export const completeAttempts = Effect.fnUntraced(function* (
  attempts: ReadonlyArray<EndedAttempt>
) {
  const sql = yield* SqlClient.SqlClient
  const [workspaces, ids, tokens] = claimColumns(attempts)
  return yield* sql<{ readonly id: string; readonly followed: boolean }>`
    with ended as materialized (
      select workspace_id::uuid, id, claim_token, attempt, started_at, duration_ms,
        http_status, failure, detail, response, status, due_at
      from unnest(
        ${workspaces}, ${ids}, ${tokens},
        ${integers(attempts.map((attempt) => attempt.attempt))},
        ${times(attempts.map((attempt) => attempt.startedAt))},
        ${integers(attempts.map((attempt) => attempt.durationMillis))},
        ${texts(attempts.map((attempt) => attempt.httpStatus?.toString() ?? null))},
        ${texts(attempts.map((attempt) => attempt.failure))},
        ${texts(attempts.map((attempt) => attempt.detail))},
        ${texts(attempts.map((attempt) => attempt.response))},
        ${texts(attempts.map((attempt) => attempt.status))},
        ${times(attempts.map((attempt) => attempt.dueAt))}
      ) as ended (workspace_id, id, claim_token, attempt, started_at, duration_ms,
        http_status, failure, detail, response, status, due_at)
    ), held as materialized (
      select ended.*
      from webhook_deliveries delivery join ended using (workspace_id, id, claim_token)
      order by delivery.id for update of delivery
    ), logged as (
      insert into webhook_attempts
        (workspace_id, delivery_id, attempt, started_at, duration_ms,
          http_status, failure, detail, response)
      select workspace_id, id, attempt, started_at, duration_ms,
        http_status::int, failure, detail, response
      from held
    )
    update webhook_deliveries delivery
    set status = held.status, attempts = held.attempt, due_at = held.due_at,
      ended_at = case when held.status <> 'pending' then held.due_at end,
      claimed_by = null, claim_token = null, claimed_until = null
    from held where delivery.workspace_id = held.workspace_id and delivery.id = held.id
    returning delivery.id, held.attempt = 1 and (
      select true from webhook_deliveries later
      where later.workspace_id = delivery.workspace_id
        and later.endpoint_id = delivery.endpoint_id
        and later.commitment_id = delivery.commitment_id
        and later.seq > delivery.seq
        and later.status = 'pending' and later.attempts = 0 and later.claimed_by is null
      limit 1
    ) is not null as followed`
})
