// Pure rules of `webhook.register` (D14): the same URL again updates that endpoint. Registering
// changes no record of the ledger, but it is an entry.
import { Result } from "effect"
import { ValidationError } from "./errors.ts"
import type { OperationOf } from "./operations.ts"
import type { WebhookEndpoint } from "./records.ts"
import { EVENT_TYPES } from "./webhookFields.ts"

export const decideWebhook = (
  operation: OperationOf<"webhook.register">,
  context: {
    readonly known: WebhookEndpoint | undefined
    readonly id: string
    readonly now: number
  }
): Result.Result<WebhookEndpoint, ValidationError> => {
  const refusal = refusedAddress(new URL(operation.url))
  if (refusal !== undefined) return Result.fail(new ValidationError({ message: refusal }))
  return Result.succeed({
    id: context.id,
    url: operation.url,
    secret: operation.secret,
    events: operation.events ?? EVENT_TYPES,
    states: operation.states ?? [],
    enabled: context.known?.enabled ?? true,
    previousSecret: null,
    createdAt: context.known?.createdAt ?? context.now,
    updatedAt: context.now
  })
}

const refusedAddress = (url: URL): string | undefined => {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return "A webhook URL must be an http: or https: URL."
  }
  if (url.username !== "" || url.password !== "") {
    return "A webhook URL must not carry a user name or password."
  }
  return undefined
}
