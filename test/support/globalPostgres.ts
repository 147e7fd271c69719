// Vitest global setup: one throwaway PostgreSQL for the whole run, started with the service's own
// launcher and removed at the end. Tests reach it through test/support/postgres.ts.

import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Exit, Redacted, Scope } from "effect"
import type { TestProject } from "vitest/node"
import { startEmbeddedPostgres } from "../../src/platform/embeddedPostgres.ts"

/** How tests reach the run's PostgreSQL, over TCP so that child processes can use the address too. */
export interface ProvidedPostgres {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  /** The database to administer from: it always exists and stays empty. */
  readonly database: string
}

declare module "vitest" {
  interface ProvidedContext {
    postgres: ProvidedPostgres
  }
}

/** Nothing here outlives the run, so nothing needs to reach the disk. */
const THROWAWAY_SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "400"
}

export default async function setup(project: TestProject) {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-test-"))
  const scope = Scope.makeUnsafe()
  const connection = await startEmbeddedPostgres({
    dataDir,
    settings: THROWAWAY_SETTINGS,
    tcpPort: 0
  }).pipe(Scope.provide(scope), Effect.runPromise)
  const { database = "", host = "", password, port = 0, username = "" } = connection
  project.provide("postgres", {
    host,
    port,
    username,
    password: password === undefined ? "" : Redacted.value(password),
    database
  })
  return async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
}
