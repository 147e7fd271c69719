// The command line as tests use it: in the test's process, where most commands take no time, or as a
// process of its own, where exit codes, streams and signals are what is tested.
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { NodeServices } from "@effect/platform-node"
import { ConfigProvider, Console, Effect, Exit } from "effect"
import { layerCommandLogging } from "../../src/cli/report.ts"
import { runLedger } from "../../src/cli.ts"

export interface Outcome {
  readonly isSuccess: boolean
  readonly stdout: string
  readonly stderr: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely, as JSON.parse does.
  readonly json: any
}

/** Settings of a command: the database, and a data folder that is not the developer's. */
export const commandEnvironment = (databaseUrl: string): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  LEDGER_DATA_DIR: path.join(os.tmpdir(), "ledger-commands-use-no-data-folder"),
  LEDGER_LOG_LEVEL: "error"
})

/** Runs one command line in this process. */
export const runCommand = async (
  databaseUrl: string,
  ...parameters: ReadonlyArray<string>
): Promise<Outcome> => {
  const written = { stdout: "", stderr: "" }
  const write =
    (stream: keyof typeof written) =>
    (...values: ReadonlyArray<unknown>) => {
      written[stream] += `${values.map(String).join(" ")}\n`
    }
  const captured = { ...console, log: write("stdout"), error: write("stderr") }
  const exit = await runLedger(parameters).pipe(
    Effect.provide(layerCommandLogging),
    Effect.provide(
      ConfigProvider.layer(ConfigProvider.fromEnvRecord(commandEnvironment(databaseUrl)))
    ),
    Effect.provide(NodeServices.layer),
    Effect.provideService(Console.Console, captured),
    Effect.runPromiseExit
  )
  return outcome(Exit.isSuccess(exit), written)
}

const outcome = (
  isSuccess: boolean,
  { stderr, stdout }: { readonly stdout: string; readonly stderr: string }
): Outcome => ({
  isSuccess,
  stdout,
  stderr,
  get json() {
    return JSON.parse(stdout)
  }
})

const PROGRAM = path.resolve(import.meta.dirname, "../../src/cli.ts")

/** Starts one command line as a process. */
export const startCommand = (
  environment: Record<string, string>,
  ...parameters: ReadonlyArray<string>
): ChildProcess =>
  spawn(process.execPath, [PROGRAM, ...parameters], {
    env: { PATH: process.env.PATH ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"]
  })

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What a process wrote and how it ended. */
export const ended = async (child: ChildProcess): Promise<Ended> => {
  const written = { stdout: "", stderr: "" }
  child.stdout?.on("data", (data) => {
    written.stdout += data
  })
  child.stderr?.on("data", (data) => {
    written.stderr += data
  })
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve))
  return { code, ...written }
}

/** A folder of the test's own, removed at the end. */
export const temporaryFolder = () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-cli-"))
  return {
    folder,
    write: (name: string, text: string) => {
      const file = path.join(folder, name)
      fs.writeFileSync(file, text)
      return file
    },
    remove: () => fs.rmSync(folder, { recursive: true, force: true })
  }
}
