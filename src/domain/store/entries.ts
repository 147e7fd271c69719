// Table ledger_entries: appended by the workspace actor, read by everybody else. There is no UPDATE
// or DELETE on it anywhere in this service.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { ENTRY_FORMAT } from "../hashChain.ts"
import type { LedgerEntry } from "../records.ts"
import { binaries, integers, texts, times } from "./columns.ts"

export interface EntryRow {
  readonly seq: bigint
  readonly format: number
  readonly op_id: string
  readonly op: string
  readonly actor: string
  readonly record_id: string
  readonly time: Date
  readonly payload: string
  readonly prev_hash: Uint8Array
  readonly hash: Uint8Array
}

export const toEntry = (row: EntryRow): LedgerEntry => ({
  seq: Number(row.seq),
  opId: row.op_id,
  op: row.op,
  actor: row.actor,
  recordId: row.record_id,
  time: row.time.getTime(),
  payload: row.payload,
  previousHash: row.prev_hash,
  hash: row.hash
})

/** A part of the statement that writes a batch. */
export const insertEntries = (
  sql: SqlClient.SqlClient,
  workspaceId: string,
  entries: ReadonlyArray<LedgerEntry>
) => sql`
  insert into ledger_entries
    (workspace_id, seq, format, op_id, op, actor, record_id, time, payload, prev_hash, hash)
  select ${workspaceId}::uuid, seq, ${ENTRY_FORMAT}::smallint, op_id, op, actor, record_id, time,
    payload, prev_hash, hash
  from unnest(
    ${integers(entries.map((entry) => entry.seq))},
    ${texts(entries.map((entry) => entry.opId))},
    ${texts(entries.map((entry) => entry.op))},
    ${texts(entries.map((entry) => entry.actor))},
    ${texts(entries.map((entry) => entry.recordId))},
    ${times(entries.map((entry) => entry.time))},
    ${texts(entries.map((entry) => entry.payload))},
    ${binaries(entries.map((entry) => entry.previousHash))},
    ${binaries(entries.map((entry) => entry.hash))}
  ) as entry (seq, op_id, op, actor, record_id, time, payload, prev_hash, hash)`

/** Which of these operations are in the ledger: asked when the outcome of a COMMIT is unknown. */
export const recordedOperations = Effect.fnUntraced(function* (
  workspaceId: string,
  entries: ReadonlyArray<LedgerEntry>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly op_id: string }>`
    select recorded.op_id
    from unnest(
      ${integers(entries.map((entry) => entry.seq))}, ${texts(entries.map((entry) => entry.opId))}
    ) as asked (seq, op_id)
    join ledger_entries recorded
      on recorded.workspace_id = ${workspaceId}::uuid
      and recorded.seq = asked.seq and recorded.op_id = asked.op_id`
  return new Set(rows.map((row) => row.op_id))
})

/** A stretch of the ledger in its order, from the entry after `afterSeq`. */
export const readEntries = Effect.fnUntraced(function* (
  workspaceId: string,
  afterSeq: number,
  count: number
) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<EntryRow>`
    select seq, format, op_id, op, actor, record_id, time, payload, prev_hash, hash
    from ledger_entries
    where workspace_id = ${workspaceId}::uuid and seq > ${afterSeq}::bigint
    order by seq
    limit ${count}`
})
