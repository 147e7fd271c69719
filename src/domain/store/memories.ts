// Table memories: the projection of the ledger that lists and decisions read.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JsonObject } from "../jsonValue.ts"
import type { MemoryRecord } from "../records.ts"
import type { MemoryStatus } from "../vocabulary.ts"
import { integers, lists, texts, times } from "./columns.ts"

export interface MemoryRow {
  readonly id: string
  readonly created_seq: bigint
  readonly body: string
  readonly kind: string | null
  readonly status: MemoryStatus
  readonly tags: ReadonlyArray<string>
  readonly priority: string | null
  readonly meta: string
  readonly created_at: Date
  readonly updated_at: Date
}

export const toMemory = (row: MemoryRow): MemoryRecord => ({
  id: row.id,
  createdSeq: Number(row.created_seq),
  body: row.body,
  kind: row.kind,
  status: row.status,
  tags: row.tags,
  priority: row.priority,
  meta: JSON.parse(row.meta) as JsonObject,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime()
})

export const loadMemories = Effect.fnUntraced(function* (
  workspaceId: string,
  ids: ReadonlyArray<string>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<MemoryRow>`
    select * from memories
    where workspace_id = ${workspaceId}::uuid and id = any(${texts(ids)})`
  return rows.map(toMemory)
})

/**
 * A part of the statement that writes a batch: each record in its last state, new ones and changed ones
 * alike.
 */
export const saveMemories = (
  sql: SqlClient.SqlClient,
  workspaceId: string,
  records: ReadonlyArray<MemoryRecord>
) => sql`
  insert into memories
    (workspace_id, id, created_seq, body, kind, status, tags, priority, meta,
     created_at, updated_at)
  select ${workspaceId}::uuid, id, created_seq, body, kind, status,
    array(select jsonb_array_elements_text(tags::jsonb)), priority, meta,
    created_at, updated_at
  from unnest(
    ${texts(records.map((record) => record.id))},
    ${integers(records.map((record) => record.createdSeq))},
    ${texts(records.map((record) => record.body))},
    ${texts(records.map((record) => record.kind))},
    ${texts(records.map((record) => record.status))},
    ${lists(records.map((record) => record.tags))},
    ${texts(records.map((record) => record.priority))},
    ${texts(records.map((record) => JSON.stringify(record.meta)))},
    ${times(records.map((record) => record.createdAt))},
    ${times(records.map((record) => record.updatedAt))}
  ) as record (id, created_seq, body, kind, status, tags, priority, meta,
    created_at, updated_at)
  on conflict (workspace_id, id) do update set
    kind = excluded.kind, status = excluded.status, priority = excluded.priority,
    meta = excluded.meta, updated_at = excluded.updated_at`
