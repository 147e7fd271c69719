// Table workspace_heads: the end of each workspace's ledger. Locking it is what makes all writes of
// a workspace, on every replica, one after another.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { GENESIS_HASH } from "../hashChain.ts"
import { type Counts, type Head, NO_COUNTS } from "../records.ts"
import { time } from "./columns.ts"

export type HeadRow = { readonly [Name in keyof Counts]: bigint } & {
  readonly workspace_id: string
  readonly last_seq: bigint
  readonly last_hash: Uint8Array
  readonly last_time: Date
}

const COUNT_NAMES = Object.keys(NO_COUNTS) as Array<keyof Counts>

export const toHead = (row: HeadRow): Head => ({
  workspaceId: row.workspace_id,
  lastSeq: Number(row.last_seq),
  lastHash: row.last_hash,
  lastTime: row.last_time.getTime(),
  counts: Object.fromEntries(
    COUNT_NAMES.map((name) => [name, Number(row[name])])
  ) as unknown as Counts
})

export const insertHead = Effect.fnUntraced(function* (workspaceId: string, now: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into workspace_heads
      (workspace_id, last_seq, last_hash, last_time, open, claimed, in_review, closed, reopened,
       untriaged, triaged, linked, committed, dismissed)
    values (${workspaceId}::uuid, 0, ${GENESIS_HASH}, ${time(now)}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    on conflict (workspace_id) do nothing`
})

/** Before the first operation of a workspace a head is all there is. */
export const readHead = Effect.fnUntraced(function* (workspaceId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<HeadRow>`
    select * from workspace_heads where workspace_id = ${workspaceId}::uuid`
  return rows.map(toHead)[0]
})

/** «A paused replica must not hold a workspace.» */
const TRANSACTION_TIMEOUT = "5s"

/**
 * Locks the head until the transaction ends, under time limits that are local to it, as PgBouncer
 * needs. Records must be loaded by a later statement: one that locked and loaded would see the new
 * head with records from before the wait.
 */
export const lockHead = Effect.fnUntraced(function* (workspaceId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<HeadRow>`
    with limits as materialized (
      select
        set_config('lock_timeout', ${TRANSACTION_TIMEOUT}, true),
        set_config('statement_timeout', ${TRANSACTION_TIMEOUT}, true),
        set_config('idle_in_transaction_session_timeout', ${TRANSACTION_TIMEOUT}, true)
    )
    select head.* from limits cross join workspace_heads head
    where head.workspace_id = ${workspaceId}::uuid
    for no key update of head`
  return rows.map(toHead)[0]
})

/** A part of the statement that writes a batch. */
export const updateHead = (sql: SqlClient.SqlClient, head: Head) => {
  const { counts } = head
  return sql`
    update workspace_heads set
      last_seq = ${head.lastSeq}, last_hash = ${head.lastHash}, last_time = ${time(head.lastTime)},
      open = ${counts.open}, claimed = ${counts.claimed}, in_review = ${counts.in_review},
      closed = ${counts.closed}, reopened = ${counts.reopened},
      untriaged = ${counts.untriaged}, triaged = ${counts.triaged}, linked = ${counts.linked},
      committed = ${counts.committed}, dismissed = ${counts.dismissed}
    where workspace_id = ${head.workspaceId}::uuid`
}
