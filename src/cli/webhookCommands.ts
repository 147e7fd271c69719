// `ledger webhook …`: who is told when commitments change. Adding one is an operation of the ledger,
// like everybody else's `webhook.register`.
import { Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { performOperation } from "../domain/performOperation.ts"
import { generateWebhookSecret, listWebhooks, removeWebhook } from "../domain/webhookCare.ts"
import { FILTER_STATES } from "../domain/webhookFields.ts"
import { actorFlag, commandCaller } from "./caller.ts"
import { layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { answer, properties, readableTime, SHOWN_ONCE, table } from "./output.ts"

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
    const webhook = { id: receipt.record_id, url, states, ...(made && { secret: made }) }
    yield* answer({ workspace_id: id, op_id: receipt.op_id, webhook }, [
      `Registered the webhook for the workspace ${name}.`,
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
    "Register a receiver of callbacks. The same URL again replaces its secret and filter"
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
      webhook.states.length === 0 ? "every move" : webhook.states.join(", "),
      readableTime(webhook.updated_at)
    ])
    yield* answer({ workspace_id: id, webhooks }, table(["ID", "URL", "STATES", "UPDATED"], rows))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("List the receivers of callbacks; secrets are not shown"),
  Command.withExamples([{ command: "ledger webhook list", description: "Who is told" }])
)

const removeCommand = Command.make(
  "remove",
  {
    id: Argument.String("webhook-id").pipe(
      Argument.withDescription("The webhook's id, whk_…, as webhook list shows it")
    ),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ id, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    yield* removeWebhook(resolved.id, id)
    yield* answer({ workspace_id: resolved.id, webhook_id: id }, [
      `Removed ${id}: nothing is sent to it any more.`
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("Remove a receiver of callbacks"),
  Command.withExamples([
    {
      command: "ledger webhook remove whk_01h455vb4pex5vsknk084sn02q",
      description: "The id is the one that webhook list shows"
    }
  ])
)

export const webhookCommand = Command.make("webhook").pipe(
  Command.withDescription("Webhooks: who is told when a commitment changes its state"),
  Command.withSubcommands([addCommand, listCommand, removeCommand])
)
