// The database that the settings name, ready to be used: DATABASE_URL or the embedded PostgreSQL,
// reachable, new enough and migrated. Used by the service and by the command line.
import * as path from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Data, Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Configuration, type Settings } from "../config.ts"
import { migrate } from "../domain/store/migrate.ts"
import { readServerVersion } from "../domain/store/server.ts"
import {
  holdsCluster,
  joinEmbeddedPostgres,
  type PostgresConnection,
  type PostgresError,
  startEmbeddedPostgres
} from "./embeddedPostgres.ts"

/** The database cannot be used; the message says what to do about it. */
export class DatabaseError extends Data.TaggedError("DatabaseError")<{
  readonly message: string
}> {}

type Open = (options: {
  readonly dataDir: string
}) => Effect.Effect<PostgresConnection, PostgresError | DatabaseError, Scope.Scope>

const makeLayer = (open: Open) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const settings = yield* Configuration
      const connection = yield* connectionOf(settings, open)
      return ready(connection).pipe(Layer.provideMerge(clientLayer(connection, settings)))
    })
  )

/** For the service: starts the embedded PostgreSQL, and refuses to share it with another service. */
export const layerForService = makeLayer(startEmbeddedPostgres)

/** A command in the wrong folder is told so, instead of an answer about a new and empty ledger. */
const joinExisting: Open = ({ dataDir }) =>
  Effect.flatMap(
    Effect.sync(() => holdsCluster(dataDir)),
    (exists): ReturnType<Open> =>
      exists
        ? joinEmbeddedPostgres({ dataDir })
        : Effect.fail(new DatabaseError({ message: noLedgerIn(path.resolve(dataDir)) }))
  )

const noLedgerIn = (folder: string) =>
  `There is no ledger in ${folder}. Go to the folder in which the service was started, or set LEDGER_DATA_DIR or DATABASE_URL; a first start (npm start, or ledger serve) makes one.`

/** For a command: joins the embedded PostgreSQL of a running service, else starts it for itself. */
export const layerForCommand = makeLayer(joinExisting)

const connectionOf = (settings: Settings, open: Open) => {
  const { databaseUrl } = settings
  if (databaseUrl === undefined) return open({ dataDir: settings.dataDir })
  if (!/^postgres(ql)?:\/\//.test(Redacted.value(databaseUrl))) {
    return Effect.fail(
      new DatabaseError({ message: "DATABASE_URL must start with postgres:// or postgresql://." })
    )
  }
  return Effect.succeed<PostgresConnection>({ url: databaseUrl, description: "DATABASE_URL" })
}

/** One row may hold a body of the largest size many times over. */
const MAX_MESSAGE_BYTES = 1024 * 1024 * 1024

const clientLayer = ({ description: _, ...connection }: PostgresConnection, settings: Settings) =>
  PgClient.layer({
    ...connection,
    applicationName: "workspace-ledger",
    maxConnections: settings.databaseConnections,
    connectTimeout: "5 seconds",
    keepAlive: "30 seconds",
    maxMessageSize: MAX_MESSAGE_BYTES,
    // Reads that are asked for together share one write to PostgreSQL; transactions keep a
    // connection to themselves all the same.
    multiplex: true,
    prepare: settings.preparedStatements
  })

const OLDEST_VERSION = 150_000
const PATIENCE = Schedule.upTo(Schedule.spaced("500 millis"), { duration: "30 seconds" })

const ready = (connection: PostgresConnection) =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      let waited = false
      const version = yield* readServerVersion.pipe(
        Effect.tapError(() =>
          waited
            ? Effect.void
            : Effect.suspend(() => {
                waited = true
                return Effect.logWarning(
                  `PostgreSQL does not answer (${connection.description}); trying for 30 seconds`
                )
              })
        ),
        Effect.retry(PATIENCE),
        Effect.mapError(() => new DatabaseError({ message: unreachable(connection) }))
      )
      if (version < OLDEST_VERSION) {
        return yield* new DatabaseError({ message: "PostgreSQL 15 or newer is required." })
      }
      const applied = yield* migrate.pipe(
        Effect.tapError((error) => Effect.logError("The database cannot be migrated", error)),
        Effect.mapError(() => new DatabaseError({ message: NOT_MIGRATED }))
      )
      if (applied.length > 0) yield* Effect.logInfo(`Migrated the database: ${applied.join(", ")}`)
    })
  )

const unreachable = (connection: PostgresConnection) =>
  `PostgreSQL cannot be reached (${connection.description}). Check that it runs, and its user, password and database name.`

const NOT_MIGRATED =
  "The database could not be brought to the schema of this version; nothing was changed."
