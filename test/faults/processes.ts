// Processes as the fault tests see them: the PostgreSQL below a service, who is still alive, and the
// end of all of them at once. Reads /proc, so these tests are for Linux.
import * as fs from "node:fs"
import * as path from "node:path"
import { Redacted } from "effect"
import type { PostgresConnection } from "../../src/platform/embeddedPostgres.ts"
import { until } from "./database.ts"

interface Found {
  readonly pid: number
  readonly parent: number
  readonly state: string
}

const readProcess = (pid: number): Found | undefined => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    const [state = "", parent = ""] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return { pid, parent: Number(parent), state }
  } catch {
    return undefined
  }
}

/** A zombie has ended; only its parent does not know yet. */
export const isRunning = (pid: number): boolean => {
  const found = readProcess(pid)
  return found !== undefined && found.state !== "Z"
}

/** The process and everything below it. */
export const processTree = (root: number): ReadonlyArray<number> => {
  const processes = fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((found) => found !== undefined && found.state !== "Z")
  const below = (pid: number): ReadonlyArray<number> => [
    pid,
    ...processes.filter((found) => found?.parent === pid).flatMap((found) => below(found?.pid ?? 0))
  ]
  return isRunning(root) ? below(root) : []
}

const postmasterNote = (dataDir: string): ReadonlyArray<string> =>
  fs.readFileSync(path.join(dataDir, "postgres/data/postmaster.pid"), "utf8").split("\n")

export const postmasterPid = (dataDir: string): number => Number(postmasterNote(dataDir)[0])

/** The embedded PostgreSQL of a running service, reached through its own socket and password. */
export const embeddedConnection = (dataDir: string): PostgresConnection => {
  const [, , , port, socketFolder] = postmasterNote(dataDir)
  const password = fs.readFileSync(path.join(dataDir, "postgres/password"), "utf8").trim()
  return {
    path: `${socketFolder}/.s.PGSQL.${port}`,
    username: "ledger",
    password: Redacted.make(password),
    database: "ledger",
    description: "embedded PostgreSQL"
  }
}

/** `kill -9` for each of them, as a power cut would; resolves when all are gone. */
export const killAll = async (pids: ReadonlyArray<number>): Promise<void> => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It has ended already.
    }
  }
  await untilGone(pids)
}

export const untilGone = (pids: ReadonlyArray<number>, patienceMillis?: number) =>
  until(
    `the processes ${pids.join(", ")} have ended`,
    async () => !pids.some(isRunning),
    patienceMillis
  )
