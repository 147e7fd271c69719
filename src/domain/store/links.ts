// Table links: which memories and commitments belong together.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Link } from "../records.ts"
import { integers, texts } from "./columns.ts"

type LinkName = Pick<Link, "memoryId" | "commitmentId">

/** Those of the named links that exist. */
export const loadLinks = Effect.fnUntraced(function* (
  workspaceId: string,
  links: ReadonlyArray<LinkName>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ memory_id: string; commitment_id: string; seq: bigint }>`
    select memory_id, commitment_id, seq
    from links
    join unnest(
      ${texts(links.map((link) => link.memoryId))},
      ${texts(links.map((link) => link.commitmentId))}
    ) as asked (memory_id, commitment_id) using (memory_id, commitment_id)
    where workspace_id = ${workspaceId}::uuid`
  return rows.map(
    (row): Link => ({
      memoryId: row.memory_id,
      commitmentId: row.commitment_id,
      seq: Number(row.seq)
    })
  )
})

/** A part of the statement that writes a batch. */
export const insertLinks = (
  sql: SqlClient.SqlClient,
  workspaceId: string,
  links: ReadonlyArray<Link>
) => sql`
  insert into links (workspace_id, memory_id, commitment_id, seq)
  select ${workspaceId}::uuid, memory_id, commitment_id, seq
  from unnest(
    ${texts(links.map((link) => link.memoryId))},
    ${texts(links.map((link) => link.commitmentId))},
    ${integers(links.map((link) => link.seq))}
  ) as link (memory_id, commitment_id, seq)`
