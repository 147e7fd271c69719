// The reads of memories. Each is one statement, so that what it answers is one snapshot.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { MemoryFilter } from "../listQueries.ts"
import type { CloseResult, CommitmentState } from "../vocabulary.ts"
import { time } from "./columns.ts"
import { type MemoryRow, toMemory } from "./memories.ts"
import { HISTORY_COLUMNS, type HistoryRow, type ListPage, toHistory, toPage } from "./reading.ts"

/** A page of memories, newest first; dismissed ones only when they are asked for (D7). */
export const listMemories = Effect.fnUntraced(function* (
  workspaceId: string,
  filter: MemoryFilter
) {
  const sql = yield* SqlClient.SqlClient
  const { kind, page, since, status } = filter
  const conditions = sql.and([
    sql`workspace_id = ${workspaceId}::uuid`,
    ...(status === undefined ? [sql`status <> 'dismissed'`] : []),
    ...(status === undefined || status === "all" ? [] : [sql`status = ${status}`]),
    ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
    ...(since === undefined ? [] : [sql`created_at > ${time(since)}`])
  ])
  const total = knownTotal() ?? sql`(select count(*) from memories where ${conditions})`
  const rows = yield* sql<MemoryRow & ListPage>`
    with page as (
      select * from memories where ${conditions}
      order by created_seq desc limit ${page.limit} offset ${page.offset}
    )
    select page.*, head.last_time as ledger_time, ${total}::float8 as total
    from workspace_heads head left join page on true
    where head.workspace_id = ${workspaceId}::uuid
    order by page.created_seq desc`
  return toPage(rows, toMemory)

  /** Totals that the head keeps need no counting, whatever the size of the ledger. */
  function knownTotal() {
    if (kind !== undefined || since !== undefined) return undefined
    const shown = sql`head.untriaged + head.triaged + head.linked + head.committed`
    if (status === undefined) return sql`(${shown})`
    return status === "all" ? sql`(${shown} + head.dismissed)` : sql`head.${sql(status)}`
  }
})

interface SingleRow extends MemoryRow {
  readonly entries: string
  readonly commitments: string
}

interface LinkedCommitment {
  readonly id: string
  readonly title: string
  readonly state: CommitmentState
  readonly result: CloseResult | null
}

/** One memory with its history and its commitments, or undefined when there is none. */
export const readMemory = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<SingleRow>`
    select memory.*,
      (
        select coalesce(json_agg(${sql.literal(HISTORY_COLUMNS)} order by seq), '[]')::text
        from ledger_entries entry
        where entry.workspace_id = memory.workspace_id and entry.record_id = memory.id
      ) as entries,
      (
        select coalesce(json_agg(
          json_build_object('id', commitment.id, 'title', commitment.title,
            'state', commitment.state, 'result', commitment.result)
          order by link.seq), '[]')::text
        from links link
        join commitments commitment
          on commitment.workspace_id = link.workspace_id and commitment.id = link.commitment_id
        where link.workspace_id = memory.workspace_id and link.memory_id = memory.id
      ) as commitments
    from memories memory
    where workspace_id = ${workspaceId}::uuid and id = ${id}`
  const row = rows[0]
  if (row === undefined) return undefined
  return {
    memory: toMemory(row),
    history: toHistory(JSON.parse(row.entries) as ReadonlyArray<HistoryRow>),
    commitments: JSON.parse(row.commitments) as ReadonlyArray<LinkedCommitment>
  }
})
