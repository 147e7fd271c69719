// Table workspaces: who the ledger is kept for.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { time } from "./columns.ts"
import { insertHead } from "./heads.ts"

export interface Workspace {
  readonly id: string
  readonly name: string
  readonly createdAt: number
}

interface WorkspaceRow {
  readonly id: string
  readonly name: string
  readonly created_at: Date
}

const toWorkspace = (row: WorkspaceRow): Workspace => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at.getTime()
})

export const listWorkspaces = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<WorkspaceRow>`select * from workspaces order by created_at, id`
  return rows.map(toWorkspace)
})

export const readWorkspace = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<WorkspaceRow>`select * from workspaces where id = ${id}::uuid`
  return rows.map(toWorkspace)[0]
})

/** Makes the workspace with its empty ledger; one that exists stays as it is. */
export const insertWorkspace = Effect.fnUntraced(function* (workspace: Workspace) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    insert into workspaces (id, name, created_at)
    values (${workspace.id}::uuid, ${workspace.name}, ${time(workspace.createdAt)})
    on conflict (id) do nothing`
  yield* insertHead(workspace.id, workspace.createdAt)
})

export const renameWorkspace = Effect.fnUntraced(function* (id: string, name: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`update workspaces set name = ${name} where id = ${id}::uuid`
})

export const countWorkspaces = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ count: number }>`select count(*)::int as count from workspaces`
  return rows[0]?.count ?? 0
})

/** Any number will do, as long as it stays the same. */
const FIRST_RUN_LOCK = 7_236_401_226

/** Held until the transaction ends: of several replicas that start at once, one goes first. */
export const lockFirstRun = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select pg_advisory_xact_lock(${FIRST_RUN_LOCK}::bigint)`
})
