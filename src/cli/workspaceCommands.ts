// `ledger workspace …` and `ledger token …`: who the ledger is kept for, and who may use it.
import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  createWorkspace,
  issueToken,
  listTokens,
  listWorkspaces,
  revokeToken
} from "../domain/settings.ts"
import { JsonFlag, layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { answer, properties, readableTime, SHOWN_ONCE, table } from "./output.ts"

const labelFlag = Flag.String("label").pipe(
  Flag.withDescription(
    "Who uses the token, such as agent:claude or human:jane; recorded as the actor of what is done with it"
  ),
  Flag.optional
)

const createCommand = Command.make(
  "create",
  {
    name: Argument.String("name").pipe(Argument.withDescription("What people call the workspace")),
    label: labelFlag
  },
  Effect.fn(function* ({ label, name }) {
    const { token, workspace } = yield* createWorkspace(name, Option.getOrNull(label))
    yield* answer({ workspace, token }, [
      `Made the workspace ${workspace.name}.`,
      ...properties([
        ["workspace", workspace.id],
        ["actor", token.actor],
        ["admin token", token.token]
      ]),
      SHOWN_ONCE
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("Make a workspace, and an admin token for it, which is shown once"),
  Command.withExamples([
    { command: "ledger workspace create payments", description: "A workspace called payments" },
    {
      command: "ledger workspace create payments --label human:jane --json",
      description: "The same for a script; jane is who its first token stands for"
    }
  ])
)

const listWorkspacesCommand = Command.make(
  "list",
  {},
  Effect.fn(function* () {
    const workspaces = yield* listWorkspaces
    const rows = workspaces.map(({ created_at, id, name }) => [id, name, readableTime(created_at)])
    yield* answer({ workspaces }, table(["ID", "NAME", "CREATED"], rows))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("List the workspaces of this database"),
  Command.withExamples([{ command: "ledger workspace list", description: "All workspaces" }])
)

export const workspaceCommand = Command.make("workspace").pipe(
  Command.withDescription("Workspaces: each has its own ledger and its own tokens"),
  Command.withSubcommands([createCommand, listWorkspacesCommand])
)

const issueCommand = Command.make(
  "issue",
  {
    workspace: workspaceFlag,
    label: labelFlag,
    role: Flag.Literals("role", ["member", "admin"]).pipe(
      Flag.withDescription("admin may also use the workspace's settings (default: member)"),
      Flag.withDefault("member" as const)
    )
  },
  Effect.fn(function* ({ label, role, workspace }) {
    const { id, name } = yield* resolveWorkspace(workspace)
    const token = yield* issueToken(id, { label: Option.getOrNull(label), role })
    yield* answer({ workspace_id: id, token }, [
      `Issued a token for the workspace ${name}.`,
      ...properties([
        ["workspace", id],
        ["id", token.id],
        ["role", token.role],
        ["actor", token.actor],
        ["token", token.token]
      ]),
      SHOWN_ONCE,
      `Requests carry it as the header X-Proxy-Token, beside X-Workspace-Id: ${id}`
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("Issue a token for a workspace; it is shown once"),
  Command.withExamples([
    {
      command: "ledger token issue --label agent:claude",
      description: "A token for an agent; what it does is recorded as agent:claude"
    },
    {
      command: "ledger token issue --role admin --workspace payments",
      description: "A token that may also change the settings of a workspace"
    }
  ])
)

const listTokensCommand = Command.make(
  "list",
  { workspace: workspaceFlag },
  Effect.fn(function* ({ workspace }) {
    const { id } = yield* resolveWorkspace(workspace)
    const tokens = yield* listTokens(id)
    const rows = tokens.map((token) => [
      token.id,
      `${token.prefix}…`,
      token.role,
      token.actor,
      readableTime(token.created_at),
      readableTime(token.last_used_at),
      token.revoked_at === null ? "active" : `revoked ${readableTime(token.revoked_at)}`
    ])
    const headings = ["ID", "TOKEN", "ROLE", "ACTOR", "CREATED", "LAST USED", "STATE"]
    yield* answer({ workspace_id: id, tokens }, table(headings, rows))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("List the tokens of a workspace, with their first characters only"),
  Command.withExamples([{ command: "ledger token list", description: "Who may use the workspace" }])
)

const revokeCommand = Command.make(
  "revoke",
  {
    id: Argument.String("token-id").pipe(
      Argument.withDescription("The token's id, tok_…, as token list shows it")
    ),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ id, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    yield* revokeToken(resolved.id, id)
    yield* answer({ workspace_id: resolved.id, token_id: id }, [
      `Revoked ${id}: it is refused from now on.`
    ])
    const left = (yield* listTokens(resolved.id)).filter((token) => token.revoked_at === null)
    if (left.length === 0 && !(yield* JsonFlag)) {
      yield* Console.error(`No token is left for ${resolved.name}: ledger token issue makes one.`)
    }
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("Revoke a token: every replica refuses it from now on"),
  Command.withExamples([
    {
      command: "ledger token revoke tok_01h455vb4pex5vsknk084sn02q",
      description: "The id is the one that token list shows"
    }
  ])
)

export const tokenCommand = Command.make("token").pipe(
  Command.withDescription("API tokens: each belongs to one workspace and stands for one actor"),
  Command.withSubcommands([issueCommand, listTokensCommand, revokeCommand])
)
