// The reads of commitments. Each is one statement, so that what it answers is one snapshot: the page,
// its total and the ledger time belong together.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CommitmentFilter } from "../listQueries.ts"
import type { CommitmentRecord } from "../records.ts"
import { texts, time } from "./columns.ts"
import { type CommitmentRow, toCommitment } from "./commitments.ts"
import { HISTORY_COLUMNS, type HistoryRow, type ListPage, toHistory, toPage } from "./reading.ts"

/** A page of commitments, newest first. */
export const listCommitments = Effect.fnUntraced(function* (
  workspaceId: string,
  filter: CommitmentFilter
) {
  const sql = yield* SqlClient.SqlClient
  const { page } = filter
  const conditions = sql.and([
    sql`workspace_id = ${workspaceId}::uuid`,
    ...(filter.state === undefined ? [] : [sql`state = ${filter.state}`]),
    ...(filter.owner === undefined ? [] : [sql`owner = ${filter.owner}`]),
    ...(filter.tags === undefined ? [] : [sql`tags && ${texts(filter.tags)} and tags <> '{}'`]),
    ...(filter.since === undefined ? [] : [sql`updated_at > ${time(filter.since)}`]),
    ...(filter.reopened === undefined ? [] : [filter.reopened ? sql`reopened` : sql`not reopened`])
  ])
  const isByTag = filter.tags !== undefined
  const counted = isByTag
    ? sql`(select count(*) from matching)`
    : sql`(select count(*) from commitments where ${conditions})`
  const total = knownTotal(filter) ?? counted
  // By tag the matches are found once, by their index: PostgreSQL cannot know that a tag is rare, and
  // would look for the page through the whole table.
  const source = isByTag
    ? sql`commitments where workspace_id = ${workspaceId}::uuid
        and created_seq = any(array(
          select created_seq from matching
          order by created_seq desc limit ${page.limit} offset ${page.offset}))`
    : sql`commitments where ${conditions}`
  const matching = isByTag
    ? sql`matching as materialized (select created_seq from commitments where ${conditions}),`
    : sql``
  const rows = yield* sql<CommitmentRow & ListPage>`
    with ${matching} page as (
      select * from ${source}
      order by created_seq desc limit ${page.limit} offset ${isByTag ? 0 : page.offset}
    )
    select page.*, head.last_time as ledger_time, ${total}::float8 as total
    from workspace_heads head left join page on true
    where head.workspace_id = ${workspaceId}::uuid
    order by page.created_seq desc`
  return toPage(rows, toCommitment)

  /** Totals that the head keeps need no counting, whatever the size of the ledger. */
  function knownTotal({ owner, reopened, since, state, tags }: CommitmentFilter) {
    if (owner !== undefined || since !== undefined || tags !== undefined) return undefined
    if (state === "reopened") return sql`0`
    if (reopened !== undefined) {
      return reopened && (state === undefined || state === "open") ? sql`head.reopened` : undefined
    }
    if (state !== undefined) return sql`head.${sql(state)}`
    return sql`(head.open + head.claimed + head.in_review + head.closed)`
  }
})

interface SingleRow extends CommitmentRow {
  readonly entries: string
  readonly memories: string
}

interface LinkedMemory {
  readonly id: string
  readonly body: string
  readonly kind: string | null
}

/** One commitment with its history and its memories, or undefined when there is none. */
export const readCommitment = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<SingleRow>`
    select commitment.*,
      (
        select coalesce(json_agg(${sql.literal(HISTORY_COLUMNS)} order by seq), '[]')::text
        from ledger_entries entry
        where entry.workspace_id = commitment.workspace_id and entry.record_id = commitment.id
      ) as entries,
      (
        select coalesce(json_agg(
          json_build_object('id', memory.id, 'body', memory.body, 'kind', memory.kind)
          order by link.seq), '[]')::text
        from links link
        join memories memory
          on memory.workspace_id = link.workspace_id and memory.id = link.memory_id
        where link.workspace_id = commitment.workspace_id and link.commitment_id = commitment.id
      ) as memories
    from commitments commitment
    where workspace_id = ${workspaceId}::uuid and id = ${id}`
  const row = rows[0]
  if (row === undefined) return undefined
  return {
    commitment: toCommitment(row) satisfies CommitmentRecord,
    history: toHistory(JSON.parse(row.entries) as ReadonlyArray<HistoryRow>),
    memories: JSON.parse(row.memories) as ReadonlyArray<LinkedMemory>
  }
})
