// Looks at embedded clusters from outside, and holds them from other processes. Used by
// test/platform/embeddedPostgres.test.ts.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import type { PostgresConnection } from "../../src/platform/embeddedPostgres.ts"
import { withClient } from "./postgres.ts"

/** The program that holds a cluster as a service does. */
export const holder = path.join(import.meta.dirname, "holdPostgres.ts")

/** The first row that a statement answers, looked at through `pg`. */
export const ask = (connection: PostgresConnection, text: string) =>
  Effect.promise(() =>
    withClient(connection, async (client) => {
      const { rows } = await client.query({ text, rowMode: "array" })
      return rows[0]
    })
  )

export const run = (connection: PostgresConnection, statement: string) =>
  Effect.promise(() => withClient(connection, (client) => client.query(statement)))

/** The process that serves a data folder's cluster, as PostgreSQL itself noted it. */
export const postmasterPid = (dataDir: string) =>
  Number(fs.readFileSync(path.join(dataDir, "postgres/data/postmaster.pid"), "utf8").split("\n")[0])

/** True while a process runs; one that is dead and not yet reaped does not count. */
export const isRunning = (pid: number) => {
  try {
    process.kill(pid, 0)
    return !/^\d+ \(.*\) Z/s.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch (error) {
    return (
      error instanceof Error &&
      "code" in error &&
      error.code === "ENOENT" &&
      !fs.existsSync("/proc/self")
    )
  }
}

/** Another process that holds the cluster, and the first line that it prints. */
export const hold = Effect.fnUntraced(function* (
  dataDir: string,
  ids?: { uid: number; gid: number }
) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [holder, dataDir], { stdio: ["ignore", "pipe", "inherit"], ...ids })
    ),
    (process_) => Effect.promise(() => end(process_, "SIGTERM"))
  )
  const answer = yield* Effect.promise(async () => {
    const [line] = await once(createInterface({ input: child.stdout }), "line")
    return JSON.parse(String(line)) as { path?: string; reason?: string; message?: string }
  })
  return { child, answer }
})

/** Signals a child process and waits for its end. */
export const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, "exit")
  child.kill(signal)
  await exited
}
