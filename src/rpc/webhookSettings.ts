// `settings.webhooks.*` and `settings.deliveries.*`: receivers, their secrets and filters, and the log
// of what was sent to them.
import { z } from "zod"
import { performOperation } from "../domain/performOperation.ts"
import {
  generateWebhookSecret,
  listWebhooks,
  removeWebhook,
  rotateSecret,
  sendTestEvent,
  updateWebhook
} from "../domain/webhookCare.ts"
import { EVENT_TYPES, FILTER_STATES } from "../domain/webhookFields.ts"
import {
  getWebhookDelivery,
  listWebhookDeliveries,
  resendDelivery,
  resendFailed
} from "../domain/webhookLog.ts"
import { adminProcedure, router } from "./procedures.ts"

const text = z.string({ error: "must be a string" })
const byId = z.object({ id: text })
const states = z.array(z.enum(FILTER_STATES, { error: "must be claimed or closed" }))

const newWebhook = z.object({
  url: text,
  secret: text.optional(),
  events: z.array(z.enum(EVENT_TYPES, { error: `must be ${EVENT_TYPES[0]}` })).optional(),
  states: states.optional()
})

const deliveryFilter = z.object({
  webhookId: text.optional(),
  status: z
    .enum(["pending", "delivered", "failed", "cancelled"], { error: "must be a delivery status" })
    .optional(),
  limit: z.int({ error: "must be an integer" }).min(1, { error: "must be at least 1" }).optional(),
  offset: z.int({ error: "must be an integer" }).min(0, { error: "must be at least 0" }).optional()
})

const overlapHours = z
  .number({ error: "must be a number" })
  .min(0, { error: "must be at least 0" })
  .max(24 * 30, { error: "must be at most 720" })
  .optional()

export const webhookSettings = router({
  list: adminProcedure.query(({ ctx }) => ctx.run(listWebhooks(ctx.caller.workspaceId))),
  /** Through the ledger, like everybody's `webhook.register`. Without a secret a strong one is made, and shown this once. */
  add: adminProcedure.input(newWebhook).mutation(async ({ ctx, input }) => {
    const secret = input.secret ?? generateWebhookSecret()
    const operation = { op: "webhook.register", ...input, secret }
    const receipt = await ctx.run(performOperation(ctx.caller, operation, ctx.idempotencyKey))
    return { id: receipt.record_id, secret }
  }),
  update: adminProcedure
    .input(byId.extend({ enabled: z.boolean().optional(), states: states.optional() }))
    .mutation(({ ctx, input }) => ctx.run(updateWebhook(ctx.caller.workspaceId, input.id, input))),
  /** The answer holds the new secret, for the only time. */
  rotate: adminProcedure
    .input(byId.extend({ secret: text.optional(), overlapHours }))
    .mutation(({ ctx, input }) => ctx.run(rotateSecret(ctx.caller.workspaceId, input.id, input))),
  /** The answer says whether the event waits, because the webhook is disabled. */
  test: adminProcedure
    .input(byId)
    .mutation(({ ctx, input }) => ctx.run(sendTestEvent(ctx.caller.workspaceId, input.id))),
  remove: adminProcedure
    .input(byId)
    .mutation(({ ctx, input }) => ctx.run(removeWebhook(ctx.caller.workspaceId, input.id)))
})

export const deliverySettings = router({
  list: adminProcedure
    .input(deliveryFilter.default({}))
    .query(({ ctx, input }) => ctx.run(listWebhookDeliveries(ctx.caller.workspaceId, input))),
  get: adminProcedure
    .input(byId)
    .query(({ ctx, input }) => ctx.run(getWebhookDelivery(ctx.caller.workspaceId, input.id))),
  resend: adminProcedure
    .input(byId)
    .mutation(({ ctx, input }) => ctx.run(resendDelivery(ctx.caller.workspaceId, input.id))),
  resendFailed: adminProcedure
    .input(byId.extend({ since: text }))
    .mutation(({ ctx, input }) =>
      ctx.run(resendFailed(ctx.caller.workspaceId, input.id, input.since))
    )
})
