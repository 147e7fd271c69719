// `ledger delivery show`: one delivery of the webhook log as people read it: every attempt, what the
// receiver answered, and the payload. deliveryCommands.ts puts it under `ledger delivery`.
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { type AttemptView, type DeliveryView, getWebhookDelivery } from "../domain/webhookLog.ts"
import { layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { answer, prettyJson, printable, properties, readableTime } from "./output.ts"

/** An id as `delivery list` shows it, for the examples of the helps. */
export const DELIVERY_ID = "dlv_01h455vb4pex5vsknk084sn02q"

export const deliveryArgument = Argument.String("delivery-id").pipe(
  Argument.withDescription("The delivery's id, dlv_…, as delivery list shows it")
)

/** The status of the answer, unless something more telling went wrong. */
export const readableOutcome = ({ failure, status }: AttemptView): string => {
  if (status === null) return failure ?? "–"
  const isToldByStatus = failure === null || failure === "status" || failure === "redirect"
  return isToldByStatus ? String(status) : `${status}, ${failure}`
}

const ANSWER_CHARACTERS = 300

const attemptLines = (attempt: AttemptView): ReadonlyArray<string> => {
  const { attempt: number, detail, duration_ms, response, started_at } = attempt
  const told: ReadonlyArray<readonly [string, string]> = [
    ...(detail === null ? [] : [["detail", printable(detail)] as const]),
    ...(response === "" ? [] : [["answer", printable(response, ANSWER_CHARACTERS)] as const])
  ]
  return [
    `Attempt ${number}: ${readableOutcome(attempt)}, ${readableTime(started_at)}, ${duration_ms} ms`,
    ...properties(told).map((line) => `  ${line}`)
  ]
}

const deliveryLines = (delivery: DeliveryView): ReadonlyArray<string> => [
  ...properties([
    ["id", delivery.id],
    ["webhook", delivery.webhook_id],
    ["event", delivery.event_id],
    ["commitment", delivery.commitment_id],
    ["status", delivery.status],
    ["created", readableTime(delivery.created_at)],
    delivery.next_attempt_at === null
      ? ["ended", readableTime(delivery.ended_at)]
      : ["next attempt", readableTime(delivery.next_attempt_at)]
  ]),
  "",
  ...(delivery.attempts.length === 0
    ? ["No attempt has ended yet."]
    : delivery.attempts.flatMap(attemptLines)),
  "",
  "Payload:",
  prettyJson(delivery.payload)
]

export const showCommand = Command.make(
  "show",
  { id: deliveryArgument, workspace: workspaceFlag },
  Effect.fn(function* ({ id, workspace }) {
    const resolved = yield* resolveWorkspace(workspace)
    const delivery = yield* getWebhookDelivery(resolved.id, id)
    yield* answer({ workspace_id: resolved.id, delivery }, deliveryLines(delivery))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Show a delivery with every attempt and its payload"),
  Command.withDescription(
    `Show a delivery with every attempt and its payload. Of an attempt: the status of the answer, or why there was none (see: ledger delivery list --help), when it started, how long it took, what went wrong in detail, and how the answer begins. What a terminal could take for a command is replaced, and answers are cut after ${ANSWER_CHARACTERS} characters; --json shows everything as it was received, up to 16 KiB an answer, and the payload as it is sent.`
  ),
  Command.withExamples([
    {
      command: `ledger delivery show ${DELIVERY_ID}`,
      description: "The id is the one that delivery list shows"
    },
    {
      command: `ledger delivery show ${DELIVERY_ID} --json`,
      description: "The whole of what was answered"
    }
  ])
)
