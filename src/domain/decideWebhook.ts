// Pure rules of `webhook.register` (D14): the same URL again updates that endpoint. Registering
// changes no record of the ledger, but it is an entry.
import { Result } from "effect"
import { ValidationError } from "./errors.ts"
import type { OperationOf } from "./operations.ts"
import { type AllowList, refusedUrl } from "./receiverAddress.ts"
import type { WebhookEndpoint } from "./records.ts"
import { EVENT_TYPES } from "./webhookFields.ts"

export const decideWebhook = (
  operation: OperationOf<"webhook.register">,
  context: {
    readonly known: WebhookEndpoint | undefined
    readonly id: string
    readonly now: number
    readonly allow: AllowList
  }
): Result.Result<WebhookEndpoint, ValidationError> => {
  const refusal = refusedUrl(operation.url, context.allow)
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
