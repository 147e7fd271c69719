// `ledger webhook …`: who is told when commitments change. Adding one is an operation of the ledger,
// like everybody else's `webhook.register`; care of those that exist is in webhookCareCommands.ts.
import { Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { performOperation } from "../domain/performOperation.ts"
import { generateWebhookSecret, listWebhooks, requireWebhook } from "../domain/webhookCare.ts"
import { FILTER_STATES } from "../domain/webhookFields.ts"
import { actorFlag, commandCaller } from "./caller.ts"
import { layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { answer, properties, readableTime, SHOWN_ONCE, table } from "./output.ts"
import {
  readableEnabled,
  readableStates,
  removeCommand,
  rotateCommand,
  testCommand,
  updateCommand
} from "./webhookCareCommands.ts"

const addCommand = Command.make(
  "add",
  {
    url: Argument.String("url").pipe(Argument.withDescription("Where callbacks are sent")),
    states: Flag.Literals("state", FILTER_STATES).pipe(
      Flag.withDescription("Only moves into this state; may be repeated (default: every move)"),
      Flag.atLeast(0)
    ),
    secret: Flag.Redacted("secret").pipe(
      Flag.withDescription("Signs the callbacks (default: a strong one is made and shown once)"),
      Flag.withMetavar("text"),
      Flag.optional
    ),
    actor: actorFlag("cli"),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ actor, secret, states, url, workspace }) {
    const { id, name } = yield* resolveWorkspace(workspace)
    const made = Option.isNone(secret) ? generateWebhookSecret() : undefined
    const receipt = yield* performOperation(
      yield* commandCaller(id, actor),
      {
        op: "webhook.register",
        url,
        secret: made ?? Redacted.value(Option.getOrThrow(secret)),
        ...(states.length === 0 ? {} : { states })
      },
      undefined
    )
    const { createdAt, updatedAt } = yield* requireWebhook(id, receipt.record_id)
    const webhook = { id: receipt.record_id, url, states, ...(made && { secret: made }) }
    yield* answer({ workspace_id: id, op_id: receipt.op_id, webhook }, [
      createdAt === updatedAt
        ? `Registered the webhook for the workspace ${name}.`
        : `This URL was registered already in the workspace ${name}: its secret is replaced, the old one signs no more, and so is its filter (now: ${states.length === 0 ? "every move" : states.join(", ")}).`,
      ...properties([
        ["id", receipt.record_id],
        ["url", url],
        ...(made === undefined ? [] : [["secret", made] as const])
      ]),
      ...(made === undefined ? [] : [SHOWN_ONCE])
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription(
    "Register a receiver of callbacks. The same URL again replaces its secret and filter at once; to change the secret with an overlap: ledger webhook rotate"
  ),
  Command.withExamples([
    {
      command: "ledger webhook add https://example.org/ledger-events",
      description: "Every callback; the secret that signs them is shown once"
    },
    {
      command: "ledger webhook add https://example.org/done --state closed",
      description: "Only when a commitment is closed"
    }
  ])
)

const listCommand = Command.make(
  "list",
  { workspace: workspaceFlag },
  Effect.fn(function* ({ workspace }) {
    const { id } = yield* resolveWorkspace(workspace)
    const webhooks = yield* listWebhooks(id)
    const rows = webhooks.map((webhook) => [
      webhook.id,
      webhook.url,
      readableStates(webhook),
      readableEnabled(webhook),
      readableTime(webhook.updated_at)
    ])
    const headings = ["ID", "URL", "STATES", "SENDING", "UPDATED"]
    yield* answer({ workspace_id: id, webhooks }, table(headings, rows))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("List the receivers of callbacks; secrets are not shown"),
  Command.withExamples([{ command: "ledger webhook list", description: "Who is told" }])
)

export const webhookCommand = Command.make("webhook").pipe(
  Command.withDescription("Webhooks: who is told when a commitment changes its state"),
  Command.withSubcommands([
    addCommand,
    listCommand,
    updateCommand,
    rotateCommand,
    testCommand,
    removeCommand
  ])
)
