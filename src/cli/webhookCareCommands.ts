// `ledger webhook update`, `rotate`, `test` and `remove`: care of a receiver that is registered.
// webhookCommands.ts puts them under `ledger webhook`.
import { Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  removeWebhook,
  requireWebhook,
  rotateSecret,
  sendTestEvent,
  updateWebhook,
  type WebhookView
} from "../domain/webhookCare.ts"
import { FILTER_STATES } from "../domain/webhookFields.ts"
import { CommandError, layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { answer, properties, readableTime, SHOWN_ONCE } from "./output.ts"

/** An id as `webhook list` shows it, for the examples of the helps. */
export const WEBHOOK_ID = "whk_01h455vb4pex5vsknk084sn02q"

const webhookArgument = Argument.String("webhook-id").pipe(
  Argument.withDescription("The webhook's id, whk_…, as webhook list shows it")
)

/** A webhook's filter, as people read it. */
export const readableStates = ({ states }: Pick<WebhookView, "states">): string =>
  states.length === 0 ? "every move" : states.join(", ")

export const readableEnabled = ({ enabled }: Pick<WebhookView, "enabled">): string =>
  enabled ? "enabled" : "disabled"

const nothingToUpdate = new CommandError({
  code: "INVALID_REQUEST",
  message: "Nothing to update: give --enable, --disable or --state."
})

export const updateCommand = Command.make(
  "update",
  {
    id: webhookArgument,
    enabled: Flag.Boolean("enable").pipe(
      Flag.withNegation("disable"),
      Flag.withDescription("Send to it; --disable: for the time being do not"),
      Flag.optional
    ),
    states: Flag.Literals("state", FILTER_STATES).pipe(
      Flag.withDescription("Only moves into this state; may be repeated (both: every move)"),
      Flag.atLeast(0)
    ),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ enabled, id, states, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    if (Option.isNone(enabled) && states.length === 0) return yield* nothingToUpdate
    const webhook = yield* updateWebhook(resolved.id, id, {
      enabled: Option.getOrUndefined(enabled),
      states: states.length === 0 ? undefined : Array.from(new Set(states))
    })
    yield* answer({ workspace_id: resolved.id, webhook }, [
      `Updated ${id}.`,
      ...properties([
        ["url", webhook.url],
        ["states", readableStates(webhook)],
        ["now", readableEnabled(webhook)]
      ])
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Enable, disable or filter a receiver of callbacks"),
  Command.withDescription(
    "Enable, disable or filter a receiver of callbacks; what is not given stays. While a webhook is disabled, no move is announced to it, and what already waits for it, retries too, is kept and sent when it is enabled again. To change its secret: ledger webhook rotate."
  ),
  Command.withExamples([
    { command: `ledger webhook update ${WEBHOOK_ID} --disable`, description: "A pause" },
    {
      command: `ledger webhook update ${WEBHOOK_ID} --enable --state closed`,
      description: "From now on, only when a commitment is closed"
    }
  ])
)

const OVERLAP_HOURS_DEFAULT = 24
const OVERLAP_HOURS_MOST = 30 * 24

export const rotateCommand = Command.make(
  "rotate",
  {
    id: webhookArgument,
    overlapHours: Flag.Finite("overlap-hours").pipe(
      Flag.withDescription(
        `How long the old secret signs too, 0 to ${OVERLAP_HOURS_MOST} (default: ${OVERLAP_HOURS_DEFAULT})`
      ),
      Flag.withMetavar("hours"),
      Flag.withDefault(OVERLAP_HOURS_DEFAULT),
      Flag.filter(
        (hours) => hours >= 0 && hours <= OVERLAP_HOURS_MOST,
        () => `0 to ${OVERLAP_HOURS_MOST}`
      )
    ),
    secret: Flag.Redacted("secret").pipe(
      Flag.withDescription("The new secret (default: a strong one is made and shown once)"),
      Flag.withMetavar("text"),
      Flag.optional
    ),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ id, overlapHours, secret: given, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    const rotated = yield* rotateSecret(resolved.id, id, {
      secret: Option.getOrUndefined(Option.map(given, Redacted.value)),
      overlapHours
    })
    const { secret, ...rest } = rotated
    const webhook = Option.isNone(given) ? rotated : rest
    yield* answer({ workspace_id: resolved.id, webhook }, [
      `Rotated the secret of ${id}.`,
      ...properties([
        ["url", rotated.url],
        ...(Option.isNone(given) ? [["secret", secret] as const] : []),
        overlapHours === 0
          ? ["old secret", "signs no more"]
          : ["old secret signs until", readableTime(rotated.previous_secret_until)]
      ]),
      ...(Option.isNone(given) ? [SHOWN_ONCE] : [])
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Replace the secret that signs callbacks; the old one overlaps"),
  Command.withDescription(
    "Replace the secret that signs callbacks. For a while every callback carries a signature made with the old secret too, so that the receiver can be given the new one at any time before that ends."
  ),
  Command.withExamples([
    {
      command: `ledger webhook rotate ${WEBHOOK_ID}`,
      description: "A new secret, shown once; both sign for 24 hours"
    },
    {
      command: `ledger webhook rotate ${WEBHOOK_ID} --overlap-hours 0`,
      description: "The old secret is known to somebody it should not be: it ends at once"
    }
  ])
)

export const testCommand = Command.make(
  "test",
  { id: webhookArgument, workspace: workspaceFlag },
  Effect.fn(function* ({ id, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    const { url } = yield* requireWebhook(resolved.id, id)
    const sent = yield* sendTestEvent(resolved.id, id)
    yield* answer({ workspace_id: resolved.id, webhook_id: id, ...sent }, [
      sent.waits
        ? `A test event goes to ${url} when the webhook is enabled: it is disabled.`
        : `A test event goes to ${url}: within a second if the service runs, else when it is started.`,
      ...properties([
        ["delivery", sent.delivery_id],
        ["event", sent.event_id]
      ]),
      `How it went: ledger delivery show ${sent.delivery_id}`
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Send an example callback to a receiver"),
  Command.withDescription(
    "Send an example callback, signed like any other: a claim of a commitment that does not exist. It is written to the outbox; a running service sends it within a second, with the usual retries."
  ),
  Command.withExamples([
    { command: `ledger webhook test ${WEBHOOK_ID}`, description: "Does the receiver hear?" }
  ])
)

export const removeCommand = Command.make(
  "remove",
  { id: webhookArgument, workspace: workspaceFlag },
  Effect.fn(function* ({ id, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    yield* removeWebhook(resolved.id, id)
    yield* answer({ workspace_id: resolved.id, webhook_id: id }, [
      `Removed ${id}: nothing is sent to it any more.`
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withDescription("Remove a receiver of callbacks; what waits for it is cancelled"),
  Command.withExamples([
    {
      command: `ledger webhook remove ${WEBHOOK_ID}`,
      description: "The id is the one that webhook list shows"
    }
  ])
)
