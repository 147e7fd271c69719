// The real program as a child process: for what only a process can show, such as signals, exit codes
// and being killed. Everything started here is stopped by its pid.
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { createInterface } from "node:readline"

const ROOT = path.resolve(import.meta.dirname, "../..")

export interface Program extends AsyncDisposable {
  readonly pid: number
  /** Resolves with the address when the line `listening on …` is printed; rejects when it exits first. */
  readonly baseUrl: Promise<string>
  /** Everything printed so far, stdout and stderr. */
  readonly output: () => string
  /** The exit code, or the signal's name, once it has ended. */
  readonly exited: Promise<number | string>
  readonly kill: (signal: NodeJS.Signals) => void
  /** Sends SIGTERM and answers the exit code. */
  readonly stop: () => Promise<number | string>
}

/** An environment without the settings of whoever runs the tests. */
export const cleanEnvironment = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !/^(LEDGER_|DATABASE_URL|NODE_ENV|VITEST)/.test(entry[0])
    )
  )

/** Runs a file of the project with this Node. */
export const startProgram = (
  parameters: ReadonlyArray<string>,
  env: Record<string, string>
): Program => {
  const child = spawn(process.execPath, parameters, {
    cwd: ROOT,
    env: { ...cleanEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  return watch(child)
}

/** The flags that `npm start` gives to Node. */
const SERVICE_FLAGS = fs
  .readFileSync(path.join(ROOT, "scripts/service-flags"), "utf8")
  .trim()
  .split(" ")

/** The service itself, as `npm start` becomes it. */
export const startService = (env: Record<string, string>): Program =>
  startProgram([...SERVICE_FLAGS, "src/main.ts"], { LEDGER_PORT: "0", ...env })

const watch = (child: ChildProcess): Program => {
  const lines: Array<string> = []
  const exited = new Promise<number | string>((resolve) => {
    child.once("close", (code, signal) => resolve(code ?? signal ?? "unknown"))
  })
  const baseUrl = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line)
        const address = /^listening on (\S+)$/.exec(line)?.[1]
        if (address !== undefined) resolve(address)
      })
    }
    void exited.then((code) =>
      reject(new Error(`the program ended with ${code} first:\n${lines.join("\n")}`))
    )
  })
  baseUrl.catch(() => {})
  const kill = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
  }
  const stop = () => {
    kill("SIGTERM")
    return exited
  }
  return {
    pid: child.pid ?? -1,
    baseUrl,
    output: () => lines.join("\n"),
    exited,
    kill,
    stop,
    [Symbol.asyncDispose]: async () => {
      kill("SIGKILL")
      await exited
    }
  }
}
