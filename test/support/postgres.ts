// Databases for tests: each is a clone of one prepared template in the run's throwaway PostgreSQL.
// Used by every test that touches SQL; looks at PostgreSQL through `pg`, not through the code under test.

import { randomBytes } from "node:crypto"
import * as path from "node:path"
import { Redacted } from "effect"
import pg from "pg"
import { inject } from "vitest"
import type { PostgresConnection } from "../../src/platform/embeddedPostgres.ts"
import { prepareTemplate } from "./template.ts"

export interface TestDatabase {
  readonly name: string
  /** For DATABASE_URL and for `pg`. */
  readonly url: string
  readonly connection: PostgresConnection
  /** Ends every connection to the database and removes it. */
  readonly drop: () => Promise<void>
}

const TEMPLATE = "ledger_template"
/** Any number that all test processes agree on. */
const TEMPLATE_LOCK = 20_261

/** A new database with the service's tables and nothing in them. */
export const createDatabase = async (): Promise<TestDatabase> => {
  const name = `test_${randomBytes(8).toString("hex")}`
  await administer(async (client) => {
    await ensureTemplate(client)
    await client.query(`create database ${name} template ${TEMPLATE}`)
  })
  const url = urlOf(name)
  return {
    name,
    url,
    connection: { url: Redacted.make(url), description: `test database ${name}` },
    drop: () => administer((client) => client.query(`drop database if exists ${name} with (force)`))
  }
}

/** The template gets its name when it is complete, so a failed preparation is tried again. */
const ensureTemplate = async (client: pg.Client): Promise<void> => {
  await client.query("select pg_advisory_lock($1)", [TEMPLATE_LOCK])
  const found = await client.query("select 1 from pg_database where datname = $1", [TEMPLATE])
  if (found.rowCount === 0) {
    const draft = `${TEMPLATE}_draft`
    await client.query(`drop database if exists ${draft} with (force)`)
    await client.query(`create database ${draft}`)
    await prepareTemplate(urlOf(draft))
    await client.query(`alter database ${draft} rename to ${TEMPLATE}`)
  }
  await client.query("select pg_advisory_unlock($1)", [TEMPLATE_LOCK])
}

const urlOf = (database: string): string => {
  const { host, password, port, username } = inject("postgres")
  return `postgres://${username}:${password}@${host}:${port}/${database}`
}

const administer = async (use: (client: pg.Client) => Promise<unknown>): Promise<void> => {
  await withClient(urlOf(inject("postgres").database), use)
}

/** Runs `use` with an open `pg` client, and closes it whatever happens. */
export const withClient = async <A>(
  target: string | PostgresConnection,
  use: (client: pg.Client) => Promise<A>
): Promise<A> => {
  const client = new pg.Client(typeof target === "string" ? target : clientConfig(target))
  // A server that is stopped under the client reports it here too; the statement's failure is enough.
  client.on("error", () => {})
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

const clientConfig = (connection: PostgresConnection): pg.ClientConfig => {
  if (connection.url !== undefined) return { connectionString: Redacted.value(connection.url) }
  const { database, password, path: socket, port, username } = connection
  const socketPort = Number(socket?.split(".").at(-1))
  return {
    host: socket === undefined ? (connection.host ?? "127.0.0.1") : path.dirname(socket),
    port: socket === undefined ? (port ?? 5432) : socketPort,
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { password: Redacted.value(password) }),
    ...(database === undefined ? {} : { database })
  }
}
