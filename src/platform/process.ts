// The process around a program: logs that suit the reader, failures as one line that says what to
// do, and exit codes. Used by main.ts and cli.ts.
import {
  Cause,
  Config,
  ConfigProvider,
  Console,
  Effect,
  Exit,
  Layer,
  Logger,
  References,
  type Runtime
} from "effect"

const LOG_LEVELS = { debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** `LEDGER_LOG_LEVEL` is checked with the other settings; here an unknown one is as good as none. */
const minimumLevel = Layer.effect(
  References.MinimumLogLevel,
  Config.String("LEDGER_LOG_LEVEL").pipe(
    Config.withDefault("info"),
    Effect.map((name) => {
      const level = name.toLowerCase()
      return level in LOG_LEVELS ? LOG_LEVELS[level as keyof typeof LOG_LEVELS] : "Info"
    }),
    Effect.orElseSucceed(() => "Info" as const)
  )
)

/** «Logs are one JSON object a line when stdout is no terminal, pretty otherwise.» */
export const layerLogging = Layer.mergeAll(
  Logger.layer([process.stdout.isTTY ? Logger.consolePretty() : Logger.consoleJson]),
  minimumLevel
)

/** The environment as it is when the program starts; a variable that is empty is not set. */
export const layerEnvironment = ConfigProvider.layer(ConfigProvider.fromEnvRecord(process.env))

/** Failures that were foreseen have a message for people; anything else is shown whole. */
const reportFailure = (cause: Cause.Cause<unknown>) => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.void
  const error = Cause.squash(cause)
  const foreseen = !Cause.hasDies(cause) && error instanceof Error && error.message !== ""
  return Console.error(foreseen ? `error: ${error.message}` : Cause.pretty(cause))
}

export const reportingFailures = <A, E, R>(program: Effect.Effect<A, E, R>) =>
  Effect.tapCause(program, reportFailure)

/** Stopped by a signal is stopped as asked: exit code 0. */
export const teardown: Runtime.Teardown = (exit, onExit) =>
  onExit(Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause) ? 0 : 1)
