// The command line: `ledger`, as one tree of commands. Each is in its own file in cli/; here they are
// put together and run.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import { CliConfig, Command, GlobalFlag } from "effect/cli"
import { deliveryCommand } from "./cli/deliveryCommands.ts"
import { JsonFlag } from "./cli/environment.ts"
import { exportCommand } from "./cli/exportCommand.ts"
import { importCommand } from "./cli/importCommand.ts"
import { openapiCommand } from "./cli/openapiCommand.ts"
import { layerCommandLogging, layerPresenter, reporting, teardown } from "./cli/report.ts"
import { serveCommand } from "./cli/serveCommand.ts"
import { verifyCommand } from "./cli/verifyCommand.ts"
import { webhookCommand } from "./cli/webhookCommands.ts"
import { tokenCommand, workspaceCommand } from "./cli/workspaceCommands.ts"
import { layerEnvironment, layerLogging } from "./platform/process.ts"
import { PROGRAM_VERSION } from "./version.ts"

const ledger = Command.make("ledger").pipe(
  Command.withDescription(
    'The command line of a workspace ledger. Commands use the database in DATABASE_URL, or the one in the data folder (LEDGER_DATA_DIR, default .ledger), beside a running service or without one. With --json a command prints one JSON value on stdout: {"ok":true,…}, or {"ok":false,"error":{"code","message"}} and exit code 1. Logs and progress go to stderr.'
  ),
  Command.withSubcommands([
    serveCommand,
    workspaceCommand,
    tokenCommand,
    webhookCommand,
    deliveryCommand,
    verifyCommand,
    exportCommand,
    importCommand,
    openapiCommand
  ]),
  Command.withGlobalFlags([JsonFlag]),
  Command.withExamples([
    { command: "ledger serve", description: "Run the service" },
    { command: "ledger token issue --label agent:claude", description: "Let an agent in" },
    { command: "ledger verify", description: "Check that nobody has changed the ledger" }
  ])
)

const builtIns = [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] as const

/** Whether the answer, and an error too, is to be one JSON value. */
const wantsJson = (parameters: ReadonlyArray<string>) => parameters.includes("--json")

/** Runs one command line and tells on stderr, or as JSON on stdout, why it failed. */
export const runLedger = (parameters: ReadonlyArray<string>) =>
  Command.runWith(ledger, { version: PROGRAM_VERSION })(parameters).pipe(
    reporting(wantsJson(parameters)),
    Effect.provide(layerPresenter(wantsJson(parameters))),
    Effect.provide(CliConfig.layer({ builtIns }))
  )

const main = (parameters: ReadonlyArray<string>) => {
  const isService = parameters.find((parameter) => !parameter.startsWith("-")) === "serve"
  const logging = isService && !wantsJson(parameters) ? layerLogging : layerCommandLogging
  runLedger(parameters).pipe(
    Effect.provide(logging),
    Effect.provide(layerEnvironment),
    Effect.provide(NodeServices.layer),
    (program) =>
      NodeRuntime.runMain(program, { disableErrorReporting: true, teardown: teardown(isService) })
  )
}

if (import.meta.main) main(process.argv.slice(2))
