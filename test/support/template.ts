// Prepares the database that every test database is cloned from. Called once per run, by
// test/support/postgres.ts, under a lock.
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { migrate } from "../../src/domain/store/migrate.ts"

/** Brings the empty database at `url` to the state in which tests want to find theirs. */
export const prepareTemplate = async (url: string): Promise<void> => {
  await migrate.pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url) })), Effect.runPromise)
}
