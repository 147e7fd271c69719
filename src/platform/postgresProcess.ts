// Starts, finds and stops the PostgreSQL server process (the postmaster) of one cluster, and runs
// initdb. Called by embeddedPostgres.ts and postgresSession.ts; knows nothing of SQL.

import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Deferred, type Duration, Effect, Exit, Result, Schedule } from "effect"
import type { PostgresBinaries } from "./postgresBinaries.ts"
import { attempt, PostgresError, unsupported } from "./postgresError.ts"
import type { PostgresHome } from "./postgresHome.ts"

/** What a postmaster writes about itself into `postmaster.pid`; the later lines appear as it starts. */
export interface Postmaster {
  readonly pid: number
  readonly port: number | undefined
  readonly socketFolder: string | undefined
  readonly tcpHost: string | undefined
  readonly ready: boolean
}

/** The note that a postmaster left in the cluster, also when that postmaster is long dead. */
export const readPostmasterFile = (home: PostgresHome): Postmaster | undefined => {
  const lines = Result.getOrUndefined(
    Result.try(() => fs.readFileSync(pidFile(home), "utf8").split("\n"))
  )
  const pid = Number.parseInt(lines?.[0] ?? "", 10)
  if (lines === undefined || !Number.isInteger(pid) || pid <= 0) return undefined
  const port = Number.parseInt(lines[3] ?? "", 10)
  return {
    pid,
    port: Number.isInteger(port) ? port : undefined,
    socketFolder: lines[4] === "" ? undefined : lines[4],
    tcpHost: lines[5] === "" ? undefined : lines[5],
    ready: lines[7]?.trim() === "ready"
  }
}

/** The cluster's postmaster if one is alive, else undefined. */
export const findPostmaster = (home: PostgresHome): Postmaster | undefined => {
  const postmaster = readPostmasterFile(home)
  return postmaster !== undefined && isAlive(postmaster.pid) && serves(postmaster.pid, home)
    ? postmaster
    : undefined
}

/**
 * Removes what a dead postmaster left: its note, and the lock beside its socket. PostgreSQL does so
 * itself, except when the process id is still taken: by a dead process that was never reaped, or,
 * after a container's restart, by a stranger. Children of the dead one are no danger: PostgreSQL
 * waits until its shared memory is free.
 */
export const removeRemains = (home: PostgresHome, dead: Postmaster): void => {
  if (!isTaken(dead.pid) || (isAlive(dead.pid) && serves(dead.pid, home))) return
  const socketLock = path.join(dead.socketFolder ?? "", `.s.PGSQL.${dead.port}.lock`)
  for (const file of [pidFile(home), socketLock]) {
    // Somebody may have started a server in the meantime: only what names the dead one is removed.
    if (readPid(file) === dead.pid) fs.rmSync(file, { force: true })
  }
}

const readPid = (file: string): number | undefined =>
  Result.getOrUndefined(Result.try(() => Number.parseInt(fs.readFileSync(file, "utf8"), 10)))

const pidFile = (home: PostgresHome): string => path.join(home.cluster, "postmaster.pid")

/** True while the process runs; a dead process that nobody has reaped yet does not count. */
export const isAlive = (pid: number): boolean => {
  const state = readProcess(pid, "stat")
  return isTaken(pid) && (state === undefined || !/^\d+ \(.*\) Z/s.test(state))
}

const isTaken = (pid: number): boolean => {
  const signalled = Result.try(() => process.kill(pid, 0))
  return Result.isSuccess(signalled) || errorCode(signalled.failure) === "EPERM"
}

/** Whether a living process is this cluster's postmaster, as far as the system tells. */
const serves = (pid: number, home: PostgresHome): boolean => {
  const commandLine = readProcess(pid, "cmdline")
  if (commandLine === undefined || commandLine === "") return true
  if (commandLine.split("\0").includes(home.cluster)) return true
  const folder = Result.try(() => fs.readlinkSync(`/proc/${pid}/cwd`))
  return Result.isSuccess(folder) && folder.success === home.cluster
}

/** A file of /proc, where there is one. */
const readProcess = (pid: number, file: "stat" | "cmdline"): string | undefined =>
  Result.getOrUndefined(Result.try(() => fs.readFileSync(`/proc/${pid}/${file}`, "utf8")))

const errorCode = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined

/** `detached` keeps a terminal's Ctrl-C away: the service decides when PostgreSQL stops. */
const spawnOptions = (home: PostgresHome, folder: string): SpawnOptions => ({
  detached: true,
  windowsHide: true,
  cwd: folder,
  ...(home.user === undefined ? {} : { uid: home.user.uid, gid: home.user.gid }),
  // A fixed environment: a caller's PGPORT, locale or time zone must not change the cluster.
  ...(process.platform === "win32"
    ? {}
    : { env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" } })
})

/** Runs a program of PostgreSQL to its end; fails with what it printed. */
export const runProgram = (
  program: string,
  parameters: ReadonlyArray<string>,
  home: PostgresHome,
  folder: string
): Effect.Effect<void, PostgresError> =>
  Effect.callback<void, PostgresError>((resume) => {
    const child = spawn(program, parameters, {
      ...spawnOptions(home, folder),
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output: Array<string> = []
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => output.push(text))
    }
    child.once("error", (cause) => resume(Effect.fail(cannotRun(program, cause))))
    child.once("close", (code) => {
      if (code === 0) return resume(Effect.void)
      const message = `${path.basename(program)} failed: ${output.join("").trim()}`
      resume(Effect.fail(new PostgresError({ reason: "Failed", message })))
    })
    return Effect.sync(() => child.kill("SIGTERM"))
  })

const cannotRun = (program: string, cause: unknown): PostgresError =>
  unsupported(`The PostgreSQL program ${program} cannot be run here (${String(cause)}).`, cause)

const LOG_BYTES_MAX = 8 * 1024 * 1024

/**
 * Starts a postmaster and waits until it accepts connections. Fails with reason `Exited` when it
 * gives up, which is also what happens to the slower of two starts on one cluster.
 */
export const launchPostmaster = Effect.fn("launchPostmaster")(function* (
  program: string,
  parameters: ReadonlyArray<string>,
  home: PostgresHome
): Effect.fn.Return<void, PostgresError> {
  const log = yield* attempt(`Cannot write ${home.logFile}`, () => openLog(home))
  const ended = yield* Deferred.make<never, PostgresError>()
  const child = yield* attempt(`Cannot start ${program}`, () => {
    const started = spawn(program, parameters, {
      ...spawnOptions(home, home.cluster),
      stdio: ["ignore", log.descriptor, log.descriptor]
    })
    const fail = (error: PostgresError) => Deferred.doneUnsafe(ended, Exit.fail(error))
    started.once("error", (cause) => fail(cannotRun(program, cause)))
    started.once("exit", (code, signal) => {
      const message = `PostgreSQL ended at its start (${signal ?? `code ${code}`}): ${logSince(home, log.size)}`
      fail(new PostgresError({ reason: "Exited", message }))
    })
    fs.closeSync(log.descriptor)
    started.unref()
    return started
  })
  yield* Effect.raceFirst(waitUntilReady(home, child), Deferred.await(ended)).pipe(
    Effect.onError(() => Effect.sync(() => child.kill("SIGINT")))
  )
})

const openLog = (home: PostgresHome): { descriptor: number; size: number } => {
  const previous = fs.statSync(home.logFile, { throwIfNoEntry: false })
  if (previous !== undefined && previous.size > LOG_BYTES_MAX) fs.truncateSync(home.logFile)
  const descriptor = fs.openSync(home.logFile, "a", 0o600)
  if (home.user !== undefined) fs.fchownSync(descriptor, home.user.uid, home.user.gid)
  return { descriptor, size: fs.fstatSync(descriptor).size }
}

/** Crash recovery after a power failure may take a while, so the patience is long. */
const waitUntilReady = (
  home: PostgresHome,
  child: ChildProcess
): Effect.Effect<void, PostgresError> =>
  Effect.suspend(() => {
    const postmaster = readPostmasterFile(home)
    return postmaster !== undefined && postmaster.pid === child.pid && postmaster.ready
      ? Effect.void
      : Effect.fail(new PostgresError({ reason: "NotReady", message: stillStarting(home) }))
  }).pipe(
    Effect.retry(Schedule.spaced("15 millis")),
    Effect.timeoutOrElse({
      duration: "5 minutes",
      orElse: () =>
        Effect.fail(new PostgresError({ reason: "Failed", message: stillStarting(home) }))
    })
  )

const stillStarting = (home: PostgresHome): string =>
  `PostgreSQL is not ready to accept connections; see ${home.logFile}`

const logSince = (home: PostgresHome, start: number): string =>
  Result.getOrElse(
    Result.try(() => fs.readFileSync(home.logFile).subarray(start).toString("utf8").trim()),
    () => `see ${home.logFile}`
  )

/**
 * Stops a postmaster and waits for its end: fast (running statements are cut off, all is written),
 * after 5 s immediately (the next start then recovers from the log; nothing committed is lost).
 */
export const stopPostmaster = Effect.fn("stopPostmaster")(function* (
  pid: number,
  binaries: PostgresBinaries
) {
  const stop = (signal: "INT" | "QUIT" | "KILL", patience: Duration.Input) =>
    Effect.sync(() => Result.try(() => sendSignal(pid, signal, binaries))).pipe(
      Effect.andThen(waitForEnd(pid, patience))
    )
  yield* stop("INT", "5 seconds").pipe(
    Effect.catch(() => stop("QUIT", "2 seconds")),
    Effect.catch(() => stop("KILL", "1 second")),
    Effect.catch((error) => Effect.logError(error.message))
  )
})

/** Windows has no signals; pg_ctl carries them over PostgreSQL's own channel. */
const sendSignal = (
  pid: number,
  signal: "INT" | "QUIT" | "KILL",
  binaries: PostgresBinaries
): void => {
  if (process.platform !== "win32") process.kill(pid, `SIG${signal}`)
  else execFileSync(binaries.pgCtl, ["kill", signal, String(pid)], { stdio: "ignore" })
}

/** Other processes' ends cannot be awaited, only looked for: an adopted postmaster is no child of ours. */
const waitForEnd = (pid: number, patience: Duration.Input): Effect.Effect<void, PostgresError> =>
  Effect.suspend(() => {
    if (!isAlive(pid)) return Effect.void
    const message = `PostgreSQL (process ${pid}) does not stop`
    return Effect.fail(new PostgresError({ reason: "Failed", message }))
  }).pipe(Effect.retry(Schedule.upTo(Schedule.spaced("10 millis"), { duration: patience })))
