// Table commitments: the projection of the ledger that lists and decisions read.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { JsonObject } from "../jsonValue.ts"
import type { CommitmentRecord } from "../records.ts"
import type { CloseResult, CommitmentState } from "../vocabulary.ts"
import { booleans, integers, lists, millisecondsOrNull, texts, times } from "./columns.ts"

export interface CommitmentRow {
  readonly id: string
  readonly created_seq: bigint
  readonly title: string
  readonly body: string | null
  readonly state: CommitmentState
  readonly result: CloseResult | null
  readonly owner: string | null
  readonly priority: string | null
  readonly tags: ReadonlyArray<string>
  readonly meta: string
  readonly memory_id: string | null
  readonly reopened: boolean
  readonly approved: boolean
  readonly created_at: Date
  readonly updated_at: Date
  readonly closed_at: Date | null
}

export const toCommitment = (row: CommitmentRow): CommitmentRecord => ({
  id: row.id,
  createdSeq: Number(row.created_seq),
  title: row.title,
  body: row.body,
  state: row.state,
  result: row.result,
  owner: row.owner,
  priority: row.priority,
  tags: row.tags,
  meta: JSON.parse(row.meta) as JsonObject,
  memoryId: row.memory_id,
  reopened: row.reopened,
  approved: row.approved,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
  closedAt: millisecondsOrNull(row.closed_at)
})

export const loadCommitments = Effect.fnUntraced(function* (
  workspaceId: string,
  ids: ReadonlyArray<string>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<CommitmentRow>`
    select * from commitments
    where workspace_id = ${workspaceId}::uuid and id = any(${texts(ids)})`
  return rows.map(toCommitment)
})

/**
 * A part of the statement that writes a batch: each record in its last state, new ones and changed ones
 * alike.
 */
export const saveCommitments = (
  sql: SqlClient.SqlClient,
  workspaceId: string,
  records: ReadonlyArray<CommitmentRecord>
) => sql`
  insert into commitments
    (workspace_id, id, created_seq, title, body, state, result, owner, priority, tags, meta,
     memory_id, reopened, approved, created_at, updated_at, closed_at)
  select ${workspaceId}::uuid, id, created_seq, title, body, state, result, owner, priority,
    array(select jsonb_array_elements_text(tags::jsonb)), meta,
    memory_id, reopened, approved, created_at, updated_at, closed_at
  from unnest(
    ${texts(records.map((record) => record.id))},
    ${integers(records.map((record) => record.createdSeq))},
    ${texts(records.map((record) => record.title))},
    ${texts(records.map((record) => record.body))},
    ${texts(records.map((record) => record.state))},
    ${texts(records.map((record) => record.result))},
    ${texts(records.map((record) => record.owner))},
    ${texts(records.map((record) => record.priority))},
    ${lists(records.map((record) => record.tags))},
    ${texts(records.map((record) => JSON.stringify(record.meta)))},
    ${texts(records.map((record) => record.memoryId))},
    ${booleans(records.map((record) => record.reopened))},
    ${booleans(records.map((record) => record.approved))},
    ${times(records.map((record) => record.createdAt))},
    ${times(records.map((record) => record.updatedAt))},
    ${times(records.map((record) => record.closedAt))}
  ) as record (id, created_seq, title, body, state, result, owner, priority, tags, meta,
    memory_id, reopened, approved, created_at, updated_at, closed_at)
  on conflict (workspace_id, id) do update set
    state = excluded.state, result = excluded.result, owner = excluded.owner,
    meta = excluded.meta, memory_id = excluded.memory_id, reopened = excluded.reopened,
    approved = excluded.approved, updated_at = excluded.updated_at,
    closed_at = excluded.closed_at`
