// `ledger delivery …`: the webhook log, what was sent to whom and how it went, and sending it again.
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { LIMITS } from "../domain/limits.ts"
import {
  type DeliveryView,
  listWebhookDeliveries,
  resendDelivery,
  resendFailed
} from "../domain/webhookLog.ts"
import {
  DELIVERY_ID,
  deliveryArgument,
  readableOutcome,
  showCommand
} from "./deliveryShowCommand.ts"
import { layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { answer, printable, readableTime, table } from "./output.ts"
import { WEBHOOK_ID } from "./webhookCareCommands.ts"

const STATUSES = ["pending", "delivered", "failed", "cancelled"] as const

const webhookFlag = Flag.String("webhook").pipe(
  Flag.withDescription("The webhook's id, whk_…, as webhook list shows it"),
  Flag.withMetavar("webhook-id")
)

const countFlag = (name: string, options: { readonly least: number; readonly usual: number }) =>
  Flag.Int(name).pipe(
    Flag.withDefault(options.usual),
    Flag.filter(
      (count) => count >= options.least,
      () => `an integer of at least ${options.least}`
    )
  )

const DETAIL_CHARACTERS = 60

const rowOf = (delivery: DeliveryView) => {
  const last = delivery.attempts.at(-1)
  return [
    delivery.id,
    delivery.webhook_id,
    delivery.status,
    String(delivery.attempts.length),
    last === undefined ? "–" : readableOutcome(last),
    delivery.next_attempt_at === null ? "–" : readableTime(delivery.next_attempt_at),
    readableTime(delivery.created_at),
    printable(last?.detail ?? "–", DETAIL_CHARACTERS)
  ]
}

const HEADINGS = [
  "ID",
  "WEBHOOK",
  "STATUS",
  "ATTEMPTS",
  "LAST",
  "NEXT ATTEMPT",
  "CREATED",
  "DETAIL"
]

const listCommand = Command.make(
  "list",
  {
    webhook: Flag.optional(webhookFlag),
    status: Flag.Literals("status", STATUSES).pipe(
      Flag.withDescription("Only deliveries of this status (default: all)"),
      Flag.optional
    ),
    limit: countFlag("limit", { least: 1, usual: LIMITS.pageSizeDefault }).pipe(
      Flag.withDescription(
        `How many, at most ${LIMITS.pageSize} (default: ${LIMITS.pageSizeDefault})`
      )
    ),
    offset: countFlag("offset", { least: 0, usual: 0 }).pipe(
      Flag.withDescription("How many to skip (default: 0)")
    ),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ limit, offset, status, webhook, workspace }) {
    const { id } = yield* resolveWorkspace(workspace)
    const deliveries = yield* listWebhookDeliveries(id, {
      webhookId: Option.getOrUndefined(webhook),
      status: Option.getOrUndefined(status),
      limit,
      offset
    })
    yield* answer({ workspace_id: id, deliveries }, table(HEADINGS, deliveries.map(rowOf)))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("List what was sent to webhooks, newest first"),
  Command.withDescription(
    "List what was sent to webhooks, newest first. LAST is the status of the last answer, such as 503, or why there was none: timeout, dns, connect, tls, reset, protocol, refused_address. DETAIL says more about it. With --json every attempt is shown, with its time, duration and the first bytes of the answer, and the payload."
  ),
  Command.withExamples([
    { command: "ledger delivery list --status failed", description: "What never arrived" },
    {
      command: `ledger delivery list --webhook ${WEBHOOK_ID} --limit 1 --json`,
      description: "Every attempt of the last delivery to one receiver"
    }
  ])
)

const WAITS = "It waits until the webhook is enabled: it is disabled."

const resendCommand = Command.make(
  "resend",
  {
    id: deliveryArgument,
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ id, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    const resent = yield* resendDelivery(resolved.id, id)
    yield* answer({ workspace_id: resolved.id, ...resent }, [
      `Sends the event of ${id} again, as the delivery ${resent.delivery_id}.`,
      ...(resent.waits ? [WAITS] : [])
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Send the event of a delivery again"),
  Command.withDescription(
    "Send the event of a delivery again, as a new delivery with its own retries: the same webhook-id and the same bytes, so that the receiver may know it already. Refused while the event is still being sent to this webhook. A running service sends it within a second."
  ),
  Command.withExamples([
    {
      command: `ledger delivery resend ${DELIVERY_ID}`,
      description: "The id is the one that delivery list shows"
    }
  ])
)

const resendFailedCommand = Command.make(
  "resend-failed",
  {
    webhook: webhookFlag,
    since: Flag.String("since").pipe(
      Flag.withDescription("ISO 8601 date, or date-time with zone: only events from then on"),
      Flag.withMetavar("time")
    ),
    workspace: workspaceFlag
  },
  Effect.fn(function* ({ since, webhook, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    const resent = yield* resendFailed(resolved.id, webhook, since)
    const count = resent.delivery_ids.length
    yield* answer({ workspace_id: resolved.id, webhook_id: webhook, ...resent }, [
      count === 0
        ? `Nothing that failed for ${webhook} since then is left to send again.`
        : `Sends ${count} failed ${count === 1 ? "event" : "events"} to ${webhook} again.`,
      ...(resent.waits ? [WAITS] : [])
    ])
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Send a webhook everything again that failed since a time"),
  Command.withDescription(
    "Send a webhook everything again that failed since a time, in the order of the ledger: for a receiver that was away for longer than the retries last."
  ),
  Command.withExamples([
    {
      command: `ledger delivery resend-failed --webhook ${WEBHOOK_ID} --since 2026-11-20`,
      description: "Since the beginning of that day in UTC"
    },
    {
      command: `ledger delivery resend-failed --webhook ${WEBHOOK_ID} --since 2026-11-20T10:00:00+01:00`,
      description: "Since a time"
    }
  ])
)

export const deliveryCommand = Command.make("delivery").pipe(
  Command.withDescription("Deliveries: the log of what was sent to webhooks, and sending it again"),
  Command.withSubcommands([listCommand, showCommand, resendCommand, resendFailedCommand])
)
