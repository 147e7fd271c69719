// The dedicated connection through which a service or a command holds its place at a cluster.
// Called by embeddedPostgres.ts; the advisory locks say who may stop the cluster, and when.

import * as fs from "node:fs"
import * as path from "node:path"
import { PgConnection } from "@effect/sql-pg"
import { Effect, Queue, Redacted, type Scope } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import { attempt, PostgresError } from "./postgresError.ts"
import type { PostgresHome } from "./postgresHome.ts"
import { findPostmaster, isAlive, type Postmaster } from "./postgresProcess.ts"

/**
 * Advisory locks in the database `postgres` (they are per database). A service holds OWNER for its
 * whole life; services and commands share USERS; whoever gets USERS alone may stop the cluster.
 */
const OWNER = "1819042409, 1"
const USERS = "1819042409, 2"
const SETUP = "1819042409, 3"

/** Why somebody uses the cluster: to own it, or to run one command on it. */
export type Role = "service" | "command"

/** How to reach a PostgreSQL: exactly the part of PgClientConfig that @effect/sql-pg needs. */
export interface PostgresConnection {
  readonly url?: Redacted.Redacted
  readonly host?: string
  readonly port?: number
  /** The Unix socket. */
  readonly path?: string
  readonly username?: string
  readonly password?: Redacted.Redacted
  readonly database?: string
  /** For logs; holds no secret. */
  readonly description: string
}

/** The cluster's only role, and the database that the service uses. */
export const SUPERUSER = "ledger"
export const DATABASE = "ledger"

/** How to reach a database of a living cluster, read from what its postmaster wrote down. */
export const connectionTo = Effect.fnUntraced(function* (
  home: PostgresHome,
  database: string
): Effect.fn.Return<PostgresConnection, PostgresError> {
  const postmaster = findPostmaster(home)
  const address = postmaster === undefined ? undefined : addressOf(postmaster)
  if (address === undefined) return yield* notReady(`PostgreSQL is not running in ${home.folder}`)
  const password = yield* attempt(`Cannot read ${home.passwordFile}`, () =>
    Redacted.make(fs.readFileSync(home.passwordFile, "utf8").trim())
  )
  const description = `embedded PostgreSQL in ${home.folder}`
  return { ...address, username: SUPERUSER, password, database, description }
})

const addressOf = ({ port, socketFolder, tcpHost }: Postmaster) => {
  if (port === undefined) return undefined
  if (tcpHost !== undefined) return { host: tcpHost, port }
  return socketFolder === undefined
    ? undefined
    : { path: path.join(socketFolder, `.s.PGSQL.${port}`) }
}

const notReady = (message: string, cause?: unknown): PostgresError =>
  new PostgresError({ reason: "NotReady", message, cause })

/** Connects and takes the locks of `role`; fails with `NotReady` when a later try may succeed. */
export const openSession = Effect.fn("openSession")(function* (
  home: PostgresHome,
  role: Role
): Effect.fn.Return<PgConnection.PgConnection, PostgresError, Scope.Scope> {
  const connection = yield* connectionTo(home, "postgres")
  const session = yield* PgConnection.make({
    ...connection,
    applicationName: `workspace-ledger ${role} ${process.pid}`
  }).pipe(Effect.mapError((error) => connectError(home, error)))
  if (role === "service") yield* takeOwnership(session, home)
  // Refused only while somebody holds USERS alone, that is while the cluster is being stopped.
  const joined = yield* lock(session, `pg_try_advisory_lock_shared(${USERS})`)
  if (!joined) return yield* notReady("PostgreSQL is being stopped")
  yield* createDatabase(session)
  return session
})

/** A wrong password never becomes right by waiting; everything else may be a start or a stop. */
const connectError = (home: PostgresHome, error: SqlError): PostgresError =>
  error.reason._tag === "AuthenticationError"
    ? new PostgresError({
        reason: "Failed",
        message: `The database in ${home.folder} does not accept the password in ${home.passwordFile}`,
        cause: error
      })
    : notReady(
        `Cannot connect to PostgreSQL in ${home.folder} (process ${findPostmaster(home)?.pid}): ${error.message}`,
        error
      )

const query = (session: PgConnection.PgConnection, statement: string) =>
  session.query(statement).pipe(
    Effect.map(({ rows }) => rows),
    Effect.mapError((error) => notReady(`PostgreSQL went away: ${error.message}`, error))
  )

const lock = (session: PgConnection.PgConnection, call: string) =>
  Effect.map(query(session, `select ${call} as taken`), (rows) => rows[0]?.taken === true)

/** A service that was just killed may still look alive to PostgreSQL for a moment: `NotReady` then. */
const takeOwnership = Effect.fnUntraced(function* (
  session: PgConnection.PgConnection,
  home: PostgresHome
): Effect.fn.Return<void, PostgresError> {
  if (yield* lock(session, `pg_try_advisory_lock(${OWNER})`)) return
  const pid = yield* ownerPid(session)
  if (pid !== undefined && !isAlive(pid)) return yield* notReady("the last service is leaving")
  return yield* new PostgresError({
    reason: "InUse",
    message: `The data folder ${home.dataDir} is in use by another service${pid === undefined ? "" : ` (process ${pid})`}. Stop it first, or choose another folder (LEDGER_DATA_DIR).`
  })
})

const ownerPid = Effect.fnUntraced(function* (
  session: PgConnection.PgConnection
): Effect.fn.Return<number | undefined, PostgresError> {
  const rows = yield* query(
    session,
    `select application_name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and (classid, objid, objsubid) = (${OWNER}, 2)`
  )
  const pid = Number.parseInt(String(rows[0]?.application_name).split(" ").at(-1) ?? "", 10)
  return Number.isInteger(pid) ? pid : undefined
})

/** Under a lock, because a service and a command may both be the first. */
const createDatabase = Effect.fnUntraced(function* (
  session: PgConnection.PgConnection
): Effect.fn.Return<void, PostgresError> {
  yield* query(session, `select pg_advisory_lock(${SETUP})`)
  const found = yield* query(session, `select 1 from pg_database where datname = '${DATABASE}'`)
  if (found.length === 0) yield* query(session, `create database ${DATABASE}`)
  yield* query(session, `select pg_advisory_unlock(${SETUP})`)
})

/** Waits until the connection is lost, and with it the locks; answers why. */
export const awaitLoss = (session: PgConnection.PgConnection): Effect.Effect<SqlError> =>
  // A listening connection is told of its end at once, without asking the server again and again.
  session.listen("workspace_ledger_session").pipe(
    Effect.flatMap((notifications) => Effect.forever(Queue.take(notifications))),
    Effect.scoped,
    Effect.flip
  )

/** Gives up this command's place; true when it was the last user, who then has to stop the cluster. */
export const leave = (session: PgConnection.PgConnection): Effect.Effect<boolean, PostgresError> =>
  query(session, `select pg_advisory_unlock_shared(${USERS})`).pipe(
    Effect.andThen(lock(session, `pg_try_advisory_lock(${USERS})`))
  )
