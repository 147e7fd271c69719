// What an import needs to know of the records it made earlier: which commitments name a source, and
// what has happened to them.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JsonObject } from "../jsonValue.ts"
import { texts } from "./columns.ts"

export interface SourcedCommitment {
  readonly id: string
  readonly createdSeq: number
  readonly meta: JsonObject
}

/**
 * Commitments whose `meta` has this key at its top level, oldest first, after the given sequence. The
 * text is searched first, so that only the metadata of likely ones is parsed.
 */
export const readSourcedCommitments = Effect.fnUntraced(function* (
  workspaceId: string,
  key: string,
  page: { readonly afterSeq: number; readonly count: number }
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ id: string; created_seq: bigint; meta: string }>`
    select id, created_seq, meta from commitments
    where workspace_id = ${workspaceId}::uuid and created_seq > ${page.afterSeq}::bigint
      and position(${`${JSON.stringify(key)}:`} in meta) > 0
    order by created_seq
    limit ${page.count}`
  return rows.map(
    (row): SourcedCommitment => ({
      id: row.id,
      createdSeq: Number(row.created_seq),
      meta: JSON.parse(row.meta) as JsonObject
    })
  )
})

/** The operations that these commitments have had since they were made, oldest first. */
export const readLaterOperations = Effect.fnUntraced(function* (
  workspaceId: string,
  recordIds: ReadonlyArray<string>
) {
  const sql = yield* SqlClient.SqlClient
  return yield* sql<{ readonly record_id: string; readonly op: string; readonly payload: string }>`
    select record_id, op, payload from ledger_entries
    where workspace_id = ${workspaceId}::uuid and record_id = any(${texts(recordIds)})
      and op <> 'commit'
    order by seq`
})
