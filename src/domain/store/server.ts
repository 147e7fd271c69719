// Questions to PostgreSQL that are about no table: does it answer, which version is it, what time is it.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const ping = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select 1`
})

/** Such as 180004 for 18.4. */
export const readServerVersion = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ version: number }>`
    select current_setting('server_version_num')::int as version`
  return rows[0]?.version ?? 0
})

/** The database's clock, in milliseconds since the epoch. */
export const readServerTime = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ time: Date }>`select clock_timestamp() as time`
  return rows[0]?.time.getTime()
})
