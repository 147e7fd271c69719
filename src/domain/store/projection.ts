// The projection tables in pages, for whoever compares all of them with the ledger. Rows are given
// as they are stored: one that was tampered with may not even be readable as a record.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Link } from "../records.ts"
import type { CommitmentRow } from "./commitments.ts"
import type { MemoryRow } from "./memories.ts"

/** Until the transaction ends, every statement sees the database as the first one did. */
export const readOneSnapshot = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`set transaction isolation level repeatable read, read only`
})

export const readCommitmentRows = Effect.fnUntraced(function* (
  workspaceId: string,
  afterSeq: bigint,
  count: number
) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<CommitmentRow>`
    select * from commitments
    where workspace_id = ${workspaceId}::uuid and created_seq > ${afterSeq}::bigint
    order by created_seq
    limit ${count}`
})

export const readMemoryRows = Effect.fnUntraced(function* (
  workspaceId: string,
  afterSeq: bigint,
  count: number
) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<MemoryRow>`
    select * from memories
    where workspace_id = ${workspaceId}::uuid and created_seq > ${afterSeq}::bigint
    order by created_seq
    limit ${count}`
})

/** In the order of their names, from the one after `after`. */
export const readLinksAfter = Effect.fnUntraced(function* (
  workspaceId: string,
  after: Pick<Link, "memoryId" | "commitmentId">,
  count: number
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ memory_id: string; commitment_id: string; seq: bigint }>`
    select memory_id, commitment_id, seq
    from links
    where workspace_id = ${workspaceId}::uuid
      and (memory_id, commitment_id) > (${after.memoryId}::text, ${after.commitmentId}::text)
    order by memory_id, commitment_id
    limit ${count}`
  return rows.map(
    (row): Link => ({
      memoryId: row.memory_id,
      commitmentId: row.commitment_id,
      seq: Number(row.seq)
    })
  )
})
