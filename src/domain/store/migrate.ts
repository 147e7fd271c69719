// Brings a database to the schema this version needs. Numbered, forward-only, and under a lock that
// ends with its transaction, so that replicas may start at the same time, also through PgBouncer.
import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { createLedger } from "./migrations/0001_ledger.ts"
import { createDeliveries } from "./migrations/0002_deliveries.ts"

const MIGRATIONS = { "0001_ledger": createLedger, "0002_deliveries": createDeliveries }

/** Any number will do, as long as it stays the same. */
const MIGRATION_LOCK = 7_236_401_225

const run = Migrator.make({})({
  loader: Migrator.fromRecord(MIGRATIONS),
  table: "ledger_migrations"
})

/** Applies what is missing; answers the names of what it applied. */
export const migrate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${MIGRATION_LOCK}::bigint)`
      const applied = yield* run
      return applied.map(([, name]) => name)
    })
  )
})
