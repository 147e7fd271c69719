// What every command has in common: the flag --json, the settings and the database it runs with, and
// the workspace it is about.
import { Data, Effect, Layer, Option } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { Configuration } from "../config.ts"
import * as Ledger from "../domain/ledger.ts"
import { quote } from "../domain/limits.ts"
import { ReceiverPolicy } from "../domain/receiverPolicy.ts"
import { listWorkspaces, type WorkspaceView } from "../domain/settings.ts"
import * as Database from "../platform/database.ts"

/** A command that cannot do what it was asked to, in words for whoever asked. */
export class CommandError extends Data.TaggedError("CommandError")<{
  readonly code: string
  readonly message: string
}> {}

/** Given anywhere on the line, to any command. */
export const JsonFlag = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withDescription("Print one JSON value with the field ok on stdout; errors too"),
    Flag.withDefault(false)
  )
})

/** Settings as the service reads them; the database of a running service, else one for the command. */
export const layerCommand = Layer.unwrap(
  Effect.map(Configuration, ({ webhooks }) =>
    Ledger.layer.pipe(Layer.provide(Layer.succeed(ReceiverPolicy, webhooks.allow)))
  )
).pipe(Layer.provideMerge(Database.layerForCommand), Layer.provideMerge(Configuration.layer))

export const workspaceFlag = Flag.String("workspace").pipe(
  Flag.withAlias("w"),
  Flag.withDescription("Id or name of the workspace; not needed while there is only one"),
  Flag.optional
)

const noWorkspace = new CommandError({
  code: "NOT_FOUND",
  message: "There is no workspace yet. Make one: ledger workspace create NAME"
})

const listed = (workspaces: ReadonlyArray<WorkspaceView>) =>
  workspaces.map(({ id, name }) => `  ${id}  ${name}`).join("\n")

/** The workspaces that were asked for: the named one, or all of them. */
export const findWorkspaces = Effect.fnUntraced(function* (asked: Option.Option<string>) {
  const workspaces = yield* listWorkspaces
  if (Option.isNone(asked)) return workspaces
  const name = asked.value
  const found = workspaces.filter((workspace) => workspace.id === name.toLowerCase())
  const matching = found.length > 0 ? found : workspaces.filter((one) => one.name === name)
  if (matching.length === 1) return matching
  if (workspaces.length === 0) return yield* noWorkspace
  const message =
    matching.length === 0
      ? `There is no workspace ${quote(name)}. There are:\n${listed(workspaces)}`
      : `Several workspaces are called ${quote(name)}; give the id of one:\n${listed(matching)}`
  return yield* new CommandError({ code: "NOT_FOUND", message })
})

/** The one workspace that a command is about. Fails when there are several and none was named. */
export const resolveWorkspace = Effect.fnUntraced(function* (asked: Option.Option<string>) {
  const workspaces = yield* findWorkspaces(asked)
  const [only] = workspaces
  if (only === undefined) return yield* noWorkspace
  if (workspaces.length === 1) return only
  const message = `There are several workspaces; name one with --workspace:\n${listed(workspaces)}`
  return yield* new CommandError({ code: "INVALID_REQUEST", message })
})
