// How a command ends when it fails: a line on stderr, or with --json a JSON value on stdout, and the
// exit code. Used by cli.ts around every command.
import { Cause, Console, Data, Effect, Exit, Layer, Logger, type Runtime } from "effect"
import { CliError, CliOutput } from "effect/cli"
import { layerLogging, reportingFailures } from "../platform/process.ts"

/** The command has said itself what is wrong; only its exit code is left to tell. */
export class AlreadyReported extends Data.TaggedError("AlreadyReported") {}

/** Logs of a command go to stderr, so that stdout holds its answer and nothing else. */
export const layerCommandLogging = Layer.merge(
  layerLogging,
  Layer.succeed(Logger.LogToStderr, true)
)

/** A command line that is not understood: what is wrong and where help is, not the whole help. */
export const layerPresenter = (asJson: boolean) =>
  CliOutput.layerPresenter({
    present: (event) => {
      if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
      const message = event.errors.map((error) => error.message).join("\n")
      return asJson
        ? printError("USAGE", message)
        : Console.error(`error: ${message}\nSee: ${event.commandPath.join(" ")} --help`)
    }
  })

const printError = (code: string, message: string) =>
  Console.log(JSON.stringify({ ok: false, error: { code, message } }))

/** Tells why the command failed, once. */
export const reporting =
  (asJson: boolean) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapCause(program, (cause) => {
      const error = Cause.squash(cause)
      // The presenter has shown the help, or why the command line was not understood.
      const isShown = CliError.isCliError(error) && error._tag === "ShowHelp"
      if (isShown || error instanceof AlreadyReported || Cause.hasInterruptsOnly(cause)) {
        return Effect.void
      }
      if (!asJson) return Effect.ignore(reportingFailures(Effect.failCause(cause)))
      return Cause.hasDies(cause) || !(error instanceof Error)
        ? Effect.andThen(
            Console.error(Cause.pretty(cause)),
            printError("UNEXPECTED", "Unexpected error; stderr tells more.")
          )
        : printError(codeOf(error), error.message)
    })

/** The codes of the interface; whatever else can go wrong is about the machine. */
const codeOf = (error: Error): string => {
  if ("code" in error && typeof error.code === "string") return error.code
  const tag = "_tag" in error ? String(error._tag) : error.name
  return tag.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase()
}

/** A command that was interrupted has not done its work; the service, stopped so, has. */
export const teardown =
  (isService: boolean): Runtime.Teardown =>
  (exit, onExit) => {
    if (Exit.isSuccess(exit)) return onExit(0)
    if (Cause.hasInterruptsOnly(exit.cause)) return onExit(isService ? 0 : 130)
    return onExit(1)
  }
