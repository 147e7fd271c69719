// Makes a new cluster with initdb, and starts the server of an existing one with our settings.
// Called by embeddedPostgres.ts.

import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { createServer } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Result } from "effect"
import type { PostgresBinaries } from "./postgresBinaries.ts"
import { attempt, PostgresError } from "./postgresError.ts"
import type { PostgresHome } from "./postgresHome.ts"
import {
  isAlive,
  launchPostmaster,
  type Postmaster,
  removeRemains,
  runProgram
} from "./postgresProcess.ts"
import { SUPERUSER } from "./postgresSession.ts"
import { canEnter } from "./postgresUser.ts"

/** Server settings by name, such as `{ fsync: "off" }` for a cluster that is thrown away. */
export type PostgresSettings = Readonly<Record<string, string>>

/** How a cluster is to be started. */
export interface StartOptions {
  readonly settings: PostgresSettings
  /** Also listen on this port of 127.0.0.1; 0 takes a free one. Windows always listens. */
  readonly tcpPort: number | undefined
}

const SETTINGS: PostgresSettings = {
  // An answered operation is on the disk: nothing below may weaken these two.
  fsync: "on",
  synchronous_commit: "on",
  shared_buffers: "128MB",
  max_connections: "200",
  // Nobody replicates from an embedded cluster.
  max_wal_senders: "0",
  max_logical_replication_workers: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  // Statements that fail are the service's business, and it logs them; this file keeps to the server.
  log_min_messages: "log",
  log_checkpoints: "off",
  logging_collector: "off"
}

const MAJOR_VERSION = "18"

/**
 * Makes the cluster unless there is one. It is made under another name and then renamed, so of two
 * starts at once one wins and the other uses the winner's, and a killed start leaves no half cluster.
 */
export const ensureCluster = Effect.fn("ensureCluster")(function* (
  home: PostgresHome,
  binaries: PostgresBinaries,
  settings: PostgresSettings
): Effect.fn.Return<void, PostgresError> {
  const version = Result.getOrUndefined(
    Result.try(() => fs.readFileSync(path.join(home.cluster, "PG_VERSION"), "utf8").trim())
  )
  if (version === MAJOR_VERSION) return
  if (version !== undefined || fs.existsSync(home.folder)) {
    return yield* new PostgresError({
      reason: "Failed",
      message: `${home.folder} does not hold a database of PostgreSQL ${MAJOR_VERSION} (${version ?? "no PG_VERSION in it"}). Move it away to start with an empty one.`
    })
  }
  yield* Effect.logInfo(`Creating the database in ${home.folder}`)
  removeAbandonedDrafts(home)
  const draft = `${home.folder}.new-${process.pid}-${randomBytes(4).toString("hex")}`
  yield* initialise(home, draft, binaries, settings).pipe(
    Effect.ensuring(Effect.sync(() => fs.rmSync(draft, { recursive: true, force: true })))
  )
})

const initialise = Effect.fnUntraced(function* (
  home: PostgresHome,
  draft: string,
  binaries: PostgresBinaries,
  settings: PostgresSettings
): Effect.fn.Return<void, PostgresError> {
  const passwordFile = path.join(draft, path.basename(home.passwordFile))
  yield* attempt(`Cannot create ${draft}`, () => {
    fs.mkdirSync(draft, { mode: 0o700 })
    fs.writeFileSync(passwordFile, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600 })
    giveTo(home, draft)
    giveTo(home, passwordFile)
  })
  const parameters = [
    ["--pgdata", path.join(draft, path.basename(home.cluster))],
    ["--username", SUPERUSER],
    ["--pwfile", passwordFile],
    ["--auth", "scram-sha-256"],
    ["--encoding", "UTF8"],
    ["--locale", "C"],
    ["--locale-provider", "builtin"],
    ["--builtin-locale", "C.UTF-8"],
    ["--no-instructions"],
    settings.fsync === "off" ? ["--no-sync"] : []
  ].flat()
  yield* runProgram(binaries.initdb, parameters, home, draft)
  const renamed = Result.try(() => fs.renameSync(draft, home.folder))
  if (Result.isSuccess(renamed) || fs.existsSync(home.cluster)) return
  return yield* attempt(`Cannot create ${home.folder}`, () => Result.getOrThrow(renamed))
})

/** A start that was killed in initdb leaves its draft; the drafts of living processes are theirs. */
const removeAbandonedDrafts = (home: PostgresHome): void => {
  const parent = path.dirname(home.folder)
  const prefix = `${path.basename(home.folder)}.new-`
  for (const name of fs.readdirSync(parent)) {
    const pid = Number.parseInt(name.slice(prefix.length), 10)
    if (!name.startsWith(prefix) || (Number.isInteger(pid) && isAlive(pid))) continue
    fs.rmSync(path.join(parent, name), { recursive: true, force: true })
  }
}

const giveTo = ({ user }: PostgresHome, file: string): void => {
  if (user !== undefined) fs.chownSync(file, user.uid, user.gid)
}

/**
 * Starts the server of an existing cluster and waits until it accepts connections. It listens where
 * `previous` did, so that connection pools find their way back to it.
 */
export const startServer = Effect.fn("startServer")(function* (
  home: PostgresHome,
  binaries: PostgresBinaries,
  options: StartOptions,
  previous: Postmaster | undefined
): Effect.fn.Return<void, PostgresError> {
  const wantsTcp = process.platform === "win32" || options.tcpPort !== undefined
  const socketFolder = yield* attempt("Cannot create a folder for PostgreSQL's socket", () =>
    process.platform === "win32" ? "" : chooseSocketFolder(home, previous?.socketFolder)
  )
  const port = wantsTcp ? (previous?.port ?? (options.tcpPort || (yield* findFreePort))) : 5432
  if (previous !== undefined) {
    yield* attempt(`Cannot write into ${home.cluster}`, () => removeRemains(home, previous))
  }
  const settings = {
    ...SETTINGS,
    ...options.settings,
    port: String(port),
    listen_addresses: wantsTcp ? "127.0.0.1" : "",
    unix_socket_directories: socketFolder,
    unix_socket_permissions: "0700"
  }
  const assignments = Object.entries(settings).flatMap(([name, value]) => [
    "-c",
    `${name}=${value}`
  ])
  yield* launchPostmaster(binaries.postgres, ["-D", home.cluster, ...assignments], home).pipe(
    Effect.onError(() =>
      Effect.sync(() => {
        // A folder that was there before may be the one that the faster start uses now.
        if (socketFolder !== previous?.socketFolder) removeSocketFolder(socketFolder)
      })
    )
  )
})

/** The longest path of a Unix socket that every system takes, less the socket's own name. */
const SOCKET_FOLDER_BYTES_MAX = 103 - "/.s.PGSQL.65535".length

const SOCKET_FOLDER_PREFIX = "workspace-ledger-"

/** A private folder with a short path: the data folder's own path may be too long for a socket. */
const chooseSocketFolder = (home: PostgresHome, previous: string | undefined): string => {
  if (previous !== undefined && isOwnSocketFolder(home, previous)) return previous
  const fits = (parent: string) =>
    Buffer.byteLength(path.join(parent, `${SOCKET_FOLDER_PREFIX}XXXXXX`)) <= SOCKET_FOLDER_BYTES_MAX
  const reachable = (parent: string) => home.user === undefined || canEnter(home.user, parent)
  const parent = [os.tmpdir(), "/tmp"].find((folder) => fits(folder) && reachable(folder)) ?? "/tmp"
  const folder = fs.mkdtempSync(path.join(parent, SOCKET_FOLDER_PREFIX))
  giveTo(home, folder)
  return folder
}

/** Checked before use, because anybody may make folders where temporary files are kept. */
const isOwnSocketFolder = (home: PostgresHome, folder: string): boolean => {
  const found = fs.lstatSync(folder, { throwIfNoEntry: false })
  const owner = home.user?.uid ?? process.getuid?.()
  return found?.isDirectory() === true && found.uid === owner && (found.mode & 0o777) === 0o700
}

/** Removes the folder of a socket that nobody listens on any more. */
export const removeSocketFolder = (folder: string): void => {
  if (!path.basename(folder).startsWith(SOCKET_FOLDER_PREFIX)) return
  fs.rmSync(folder, { recursive: true, force: true })
}

/** PostgreSQL cannot choose a port itself, so the system is asked for one that is free now. */
const findFreePort: Effect.Effect<number, PostgresError> = Effect.callback((resume) => {
  const server = createServer()
  server.once("error", (cause) =>
    resume(
      attempt("Cannot find a free port", (): never => {
        throw cause
      })
    )
  )
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})
