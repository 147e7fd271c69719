// The embedded PostgreSQL: the default storage when DATABASE_URL is not set. Called by main.ts for
// the service and by cli.ts for commands. The neighbouring postgres*.ts files hold the steps.

import type { PgConnection } from "@effect/sql-pg"
import { Effect, Exit, Schedule, Scope } from "effect"
import { findPostgresBinaries, type PostgresBinaries } from "./postgresBinaries.ts"
import {
  ensureCluster,
  type PostgresSettings,
  removeSocketFolder,
  type StartOptions,
  startServer
} from "./postgresCluster.ts"
import type { PostgresError } from "./postgresError.ts"
import { findPostgresHome, type PostgresHome, prepareDataFolder } from "./postgresHome.ts"
import {
  findPostmaster,
  type Postmaster,
  readPostmasterFile,
  stopPostmaster
} from "./postgresProcess.ts"
import {
  awaitLoss,
  connectionTo,
  DATABASE,
  leave,
  openSession,
  type PostgresConnection,
  type Role
} from "./postgresSession.ts"

export { PostgresError } from "./postgresError.ts"
export { holdsCluster, prepareDataFolder } from "./postgresHome.ts"
export type { PostgresConnection } from "./postgresSession.ts"

export interface EmbeddedPostgresOptions {
  /** The service's data folder; the cluster is kept in its folder `postgres`. */
  readonly dataDir: string
  /** Server settings that differ from the service's own, for clusters that are thrown away. */
  readonly settings?: PostgresSettings
  /** Also listen on this port of 127.0.0.1 (0: a free one); otherwise only on a Unix socket. */
  readonly tcpPort?: number
}

interface Cluster {
  readonly home: PostgresHome
  readonly binaries: PostgresBinaries
  readonly options: StartOptions
}

/**
 * Starts the cluster in `<dataDir>/postgres`, or joins it when a killed service left it running, and
 * stops it when the scope closes. Fails with reason `InUse` while another service holds it.
 */
export const startEmbeddedPostgres = Effect.fn("startEmbeddedPostgres")(function* (
  options: EmbeddedPostgresOptions
): Effect.fn.Return<PostgresConnection, PostgresError, Scope.Scope> {
  const cluster = yield* prepare(options)
  const scope = yield* Effect.scope
  // Finalizers run in reverse: stop watching, stop PostgreSQL, and only then give the locks back.
  const sessions = yield* Scope.fork(scope)
  const session = yield* Effect.acquireRelease(
    joinCluster(cluster, "service", sessions, readPostmasterFile(cluster.home)),
    () => stopCluster(cluster),
    { interruptible: true }
  )
  yield* Effect.forkIn(keepSession(cluster, session, sessions), scope)
  return yield* connectionTo(cluster.home, DATABASE)
})

/**
 * For commands: joins the cluster that a service (or another command) runs, else starts it. The last
 * to leave a cluster that no service holds stops it.
 */
export const joinEmbeddedPostgres = Effect.fn("joinEmbeddedPostgres")(function* (
  options: EmbeddedPostgresOptions
): Effect.fn.Return<PostgresConnection, PostgresError, Scope.Scope> {
  const cluster = yield* prepare(options)
  const sessions = yield* Scope.fork(yield* Effect.scope)
  yield* Effect.acquireRelease(
    joinCluster(cluster, "command", sessions, readPostmasterFile(cluster.home)),
    (session) =>
      leave(session).pipe(
        Effect.flatMap((last) => (last ? stopCluster(cluster) : Effect.void)),
        // The service that held the cluster was faster: there is nothing left to leave.
        Effect.ignore
      ),
    { interruptible: true }
  )
  return yield* connectionTo(cluster.home, DATABASE)
})

const prepare = Effect.fnUntraced(function* (
  options: EmbeddedPostgresOptions
): Effect.fn.Return<Cluster, PostgresError> {
  const dataDir = yield* prepareDataFolder(options.dataDir)
  const home = yield* findPostgresHome(dataDir)
  const binaries = yield* findPostgresBinaries(dataDir, home.user)
  const settings = options.settings ?? {}
  yield* ensureCluster(home, binaries, settings)
  return { home, binaries, options: { settings, tcpPort: options.tcpPort } }
})

/** Connecting to a server that is starting up or recovering, and stepping aside for one that stops. */
const patience = Schedule.upTo(Schedule.spaced("30 millis"), { duration: "20 seconds" })

/** A lost race against another start, or the leftovers of a killed server, are over within seconds. */
const attemptsToStart = Schedule.upTo(Schedule.spaced("250 millis"), { times: 12 })

/**
 * Opens a session in the running cluster, starting the server when there is none. PostgreSQL's own
 * lock file lets only one of several simultaneous starts succeed; the others find its server.
 */
const joinCluster = (
  cluster: Cluster,
  role: Role,
  scope: Scope.Scope,
  previous: Postmaster | undefined
): Effect.Effect<PgConnection.PgConnection, PostgresError> =>
  Effect.gen(function* () {
    const isRunning = findPostmaster(cluster.home) !== undefined
    if (!isRunning) yield* startServer(cluster.home, cluster.binaries, cluster.options, previous)
    const attempt = yield* Scope.fork(scope)
    return yield* openSession(cluster.home, role).pipe(
      Scope.provide(attempt),
      // A start that is broken off takes the server that it just started with it.
      Effect.onInterrupt(() => (isRunning ? Effect.void : stopCluster(cluster))),
      Effect.onError((cause) => Scope.close(attempt, Exit.failCause(cause)))
    )
  }).pipe(
    Effect.retry({ schedule: patience, while: (error) => error.reason === "NotReady" }),
    Effect.retry({ schedule: attemptsToStart, while: (error) => error.reason === "Exited" })
  )

/** While the service lives: when PostgreSQL dies under it, says so, starts it again and takes the locks. */
const keepSession = Effect.fnUntraced(function* (
  cluster: Cluster,
  first: PgConnection.PgConnection,
  scope: Scope.Scope
) {
  const started = findPostmaster(cluster.home)
  let session = first
  while (true) {
    const loss = yield* awaitLoss(session)
    // A server that ended in good order has left no note; its address is still to be kept.
    const previous = readPostmasterFile(cluster.home) ?? started
    yield* Effect.logError(`The connection that holds PostgreSQL was lost: ${loss.message}`)
    session = yield* joinCluster(cluster, "service", scope, previous).pipe(
      Effect.tapError((error) => Effect.logError(error.message)),
      Effect.retry(Schedule.spaced("5 seconds"))
    )
    yield* Effect.logInfo("PostgreSQL is held again")
  }
})

const stopCluster = Effect.fnUntraced(function* ({ binaries, home }: Cluster) {
  const postmaster = findPostmaster(home)
  if (postmaster === undefined) return
  yield* stopPostmaster(postmaster.pid, binaries)
  removeSocketFolder(postmaster.socketFolder ?? "")
})
