// The one PostgreSQL that everything is measured on: the embedded one with its default settings, so
// with durable commits, in a folder on the project's own disk that is removed at the end.
import * as fs from "node:fs"
import * as path from "node:path"
import { Effect, Redacted, type Scope } from "effect"
import pg from "pg"
import { startEmbeddedPostgres } from "../src/platform/embeddedPostgres.ts"
import { BenchError } from "./processes.ts"

export interface Postgres {
  /** Makes an empty database; answers its URL. */
  readonly createDatabase: (name: string) => Effect.Effect<string, BenchError>
}

/** A temporary folder of the system may be in memory, where a durable commit costs nothing. */
const PARENT = path.join(import.meta.dirname, "..", ".ledger")

export const startPostgres: Effect.Effect<Postgres, BenchError, Scope.Scope> = Effect.gen(
  function* () {
    const folder = yield* Effect.acquireRelease(Effect.sync(makeFolder), (folder) =>
      Effect.sync(() => removeFolder(folder))
    )
    const connection = yield* startEmbeddedPostgres({ dataDir: folder, tcpPort: 0 }).pipe(
      Effect.mapError((error) => new BenchError({ message: error.message }))
    )
    const { host = "127.0.0.1", password, port = 0, username = "" } = connection
    const secret = password === undefined ? "" : Redacted.value(password)
    const urlOf = (database: string) =>
      `postgres://${username}:${encodeURIComponent(secret)}@${host}:${port}/${database}`
    return {
      createDatabase: (name) =>
        query(urlOf("postgres"), (client) => client.query(`create database ${name}`)).pipe(
          Effect.as(urlOf(name))
        )
    }
  }
)

/** Runs `use` with an open `pg` client. */
export const query = <A>(url: string, use: (client: pg.Client) => Promise<A>) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const client = new pg.Client(url)
      // A connection that breaks fails the statement under way; that is enough.
      client.on("error", () => {})
      await client.connect()
      return client
    }),
    (client) =>
      Effect.tryPromise({
        try: () => use(client),
        catch: (error) => new BenchError({ message: `A statement failed: ${String(error)}` })
      }),
    (client) => Effect.promise(() => client.end())
  )

const makeFolder = () => {
  // The parent is the service's default data folder, which is closed to others.
  fs.mkdirSync(PARENT, { recursive: true, mode: 0o700 })
  return fs.mkdtempSync(path.join(PARENT, "bench-"))
}

/** Started as root, PostgreSQL may have had to keep the cluster elsewhere; a note says where. */
const removeFolder = (folder: string) => {
  const note = path.join(folder, "postgres-folder")
  if (fs.existsSync(note)) {
    fs.rmSync(path.dirname(fs.readFileSync(note, "utf8").trim()), { recursive: true, force: true })
  }
  fs.rmSync(folder, { recursive: true, force: true })
  if (fs.readdirSync(PARENT).length === 0) fs.rmdirSync(PARENT)
}
