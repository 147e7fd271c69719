// `settings.*`: what a workspace's administrators may do beside the ledger (D15, D25).
import { Effect } from "effect"
import { z } from "zod"
import {
  createWorkspace,
  getWorkspace,
  issueToken,
  listTokens,
  renameWorkspace,
  revokeToken
} from "../domain/settings.ts"
import { adminProcedure, router } from "./procedures.ts"
import { deliverySettings, webhookSettings } from "./webhookSettings.ts"

const text = z.string({ error: "must be a string" })
const named = z.object({ name: text })
const byId = z.object({ id: text })

const tokenOptions = z.object({
  label: text.nullish(),
  role: z.enum(["admin", "member"], { error: "must be admin or member" }).default("member")
})

export const settingsRouter = router({
  workspaces: router({
    /** The token's own workspace: a token is scoped to exactly one. */
    list: adminProcedure.query(({ ctx }) =>
      ctx.run(Effect.map(getWorkspace(ctx.caller.workspaceId), (workspace) => [workspace]))
    ),
    /** A new workspace beside this one, with its first admin token, which is shown once. */
    create: adminProcedure
      .input(named)
      .mutation(({ ctx, input }) => ctx.run(createWorkspace(input.name))),
    rename: adminProcedure
      .input(named)
      .mutation(({ ctx, input }) => ctx.run(renameWorkspace(ctx.caller.workspaceId, input.name)))
  }),
  tokens: router({
    list: adminProcedure.query(({ ctx }) => ctx.run(listTokens(ctx.caller.workspaceId))),
    /** The answer holds the token, for the only time. */
    issue: adminProcedure
      .input(tokenOptions)
      .mutation(({ ctx, input }) =>
        ctx.run(
          issueToken(ctx.caller.workspaceId, { label: input.label ?? null, role: input.role })
        )
      ),
    revoke: adminProcedure
      .input(byId)
      .mutation(({ ctx, input }) => ctx.run(revokeToken(ctx.caller.workspaceId, input.id)))
  }),
  webhooks: webhookSettings,
  deliveries: deliverySettings
})
