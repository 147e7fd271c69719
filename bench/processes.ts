// Child processes of the bench: started, waited for until they are ready, and stopped by their pid
// when the scope closes, also after Ctrl-C.
import { type ChildProcess, fork, spawn } from "node:child_process"
import * as fs from "node:fs"
import { Data, Effect, type Scope } from "effect"

/** A part of the bench could not do its work; the message says which and why. */
export class BenchError extends Data.TaggedError("BenchError")<{ readonly message: string }> {}

const READY_TIMEOUT = "30 seconds"
const STOP_TIMEOUT = "10 seconds"
const OUTPUT_KEPT = 4_000

export interface Program {
  readonly pid: number
  readonly baseUrl: string
}

/** Starts `node file` and waits for its line «listening on URL». */
export const startProgram = Effect.fnUntraced(function* (
  file: string,
  env: Readonly<Record<string, string>>,
  nodeFlags: ReadonlyArray<string> = []
): Effect.fn.Return<Program, BenchError, Scope.Scope> {
  const child = yield* acquire(() =>
    spawn(process.execPath, [...nodeFlags, file], {
      env: { ...inheritedEnvironment(), ...env },
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own: Ctrl-C is for the harness, which then stops its children in order.
      detached: true
    })
  )
  const baseUrl = yield* Effect.callback<string, BenchError>((resume) => {
    let output = ""
    const read = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-OUTPUT_KEPT)
      const found = /^listening on (\S+)$/m.exec(output)?.[1]
      if (found !== undefined) resume(Effect.succeed(found))
    }
    child.stdout?.on("data", read)
    child.stderr?.on("data", read)
    child.once("exit", () => {
      resume(Effect.fail(new BenchError({ message: `${file} ended at its start:\n${output}` })))
    })
  }).pipe(inTime(file))
  return { pid: child.pid ?? 0, baseUrl }
})

/** Starts `node file` with an IPC channel and waits for its message «ready». */
export const startWorker = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<ChildProcess, BenchError, Scope.Scope> {
  const child = yield* acquire(() => fork(file, { detached: true, execArgv: [] }))
  yield* Effect.callback<void, BenchError>((resume) => {
    child.once("message", () => resume(Effect.void))
    child.once("exit", () => {
      resume(Effect.fail(new BenchError({ message: `${file} ended at its start.` })))
    })
  }).pipe(inTime(file))
  return child
})

const inTime =
  (file: string) =>
  <A>(effect: Effect.Effect<A, BenchError>): Effect.Effect<A, BenchError> =>
    Effect.timeoutOrElse(effect, {
      duration: READY_TIMEOUT,
      orElse: () => Effect.fail(new BenchError({ message: `${file} was not ready in time.` }))
    })

const acquire = (start: () => ChildProcess) => Effect.acquireRelease(Effect.sync(start), stop)

/** Asks with SIGTERM; takes no answer for an answer after a while. */
const stop = (child: ChildProcess) =>
  Effect.callback<void>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGTERM")
  }).pipe(
    Effect.timeoutOption(STOP_TIMEOUT),
    Effect.andThen(Effect.sync(() => child.kill("SIGKILL")))
  )

/** What a shell had set for its own service must not steer the measured one. */
const inheritedEnvironment = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !name.startsWith("LEDGER_") && name !== "DATABASE_URL" && name !== "NODE_OPTIONS"
    )
  )

export interface Usage {
  readonly cpuMillis: number
  readonly residentBytes: number
}

/** Clock ticks of /proc are hundredths of a second on every Linux that Node runs on. */
const MILLIS_PER_TICK = 10

/** CPU time and memory of a process so far; undefined where there is no /proc. */
export const usageOf = (pid: number): Usage | undefined => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    const ticks = Number(fields[11]) + Number(fields[12])
    const status = fs.readFileSync(`/proc/${pid}/status`, "utf8")
    const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
    return { cpuMillis: ticks * MILLIS_PER_TICK, residentBytes: kilobytes * 1024 }
  } catch {
    return undefined
  }
}
