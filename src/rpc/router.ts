// The tRPC router: one mutation that writes, five queries that read, and the settings. Procedures
// translate between callers and the domain; they decide nothing.
import { Effect } from "effect"
import { z } from "zod"
import { CommitmentListQuery, MemoryListQuery } from "../domain/listQueries.ts"
import type { OperationInput } from "../domain/operations.ts"
import { performOperation } from "../domain/performOperation.ts"
import {
  getCommitment,
  getCommitments,
  getMemories,
  getMemory,
  getStatus
} from "../domain/queries.ts"
import { toIso } from "../domain/time.ts"
import {
  Commitment,
  CommitmentListItem,
  Memory,
  MemoryListItem,
  OperationReceipt,
  type Page,
  Pagination,
  StatusSnapshot
} from "../domain/vocabulary.ts"
import type { RpcContext } from "./context.ts"
import { documented, procedure, router } from "./procedures.ts"
import { settingsRouter } from "./settings.ts"

const answerOf = <Data extends z.ZodType>(data: Data) =>
  documented(z.object({ success: z.literal(true), data }))

const pageOf = <Item extends z.ZodType>(item: Item) =>
  documented(z.object({ success: z.literal(true), data: z.array(item), pagination: Pagination }))

const success = <Data>(data: Data) => ({ success: true as const, data })

/** Every list answer says which moment it shows: a poller's next `since`. */
const pageAnswer =
  (ctx: RpcContext) =>
  <Item>({ data, ledgerTime, pagination }: Page<Item>) => {
    ctx.setHeader("Ledger-Time", toIso(ledgerTime))
    return { success: true as const, data: [...data], pagination }
  }

/**
 * At run time any object with an `op`: the domain parses it, so that its errors have the spec's
 * words. To callers it is the union of the operations, so that what is incomplete does not compile.
 */
const operationInput = z.looseObject({ op: z.unknown().optional() }) as unknown as z.ZodType<
  OperationInput,
  OperationInput
>

const id = z.object({ id: z.string({ error: "must be a string" }) })

export const appRouter = router({
  ops: procedure
    .meta({ openapi: { method: "POST", path: "/ops", operationId: "performOperation" } })
    .input(operationInput)
    .output(documented(OperationReceipt))
    .mutation(({ ctx, input }) =>
      ctx.run(performOperation(ctx.caller, input, ctx.idempotencyKey), ctx.signal)
    ),
  status: procedure
    .meta({ openapi: { method: "GET", path: "/status", operationId: "getStatus" } })
    .output(answerOf(StatusSnapshot))
    .query(({ ctx }) =>
      ctx.run(Effect.map(getStatus(ctx.caller.workspaceId), success), ctx.signal)
    ),
  commitments: router({
    list: procedure
      .meta({ openapi: { method: "GET", path: "/commitments", operationId: "listCommitments" } })
      .input(CommitmentListQuery.default({}))
      .output(pageOf(CommitmentListItem))
      .query(({ ctx, input }) =>
        ctx.run(getCommitments(ctx.caller.workspaceId, input), ctx.signal).then(pageAnswer(ctx))
      ),
    get: procedure
      .meta({ openapi: { method: "GET", path: "/commitments/{id}", operationId: "getCommitment" } })
      .input(id)
      .output(answerOf(Commitment))
      .query(({ ctx, input }) =>
        ctx.run(Effect.map(getCommitment(ctx.caller.workspaceId, input.id), success), ctx.signal)
      )
  }),
  memories: router({
    list: procedure
      .meta({ openapi: { method: "GET", path: "/memories", operationId: "listMemories" } })
      .input(MemoryListQuery.default({}))
      .output(pageOf(MemoryListItem))
      .query(({ ctx, input }) =>
        ctx.run(getMemories(ctx.caller.workspaceId, input), ctx.signal).then(pageAnswer(ctx))
      ),
    get: procedure
      .meta({ openapi: { method: "GET", path: "/memories/{id}", operationId: "getMemory" } })
      .input(id)
      .output(answerOf(Memory))
      .query(({ ctx, input }) =>
        ctx.run(Effect.map(getMemory(ctx.caller.workspaceId, input.id), success), ctx.signal)
      )
  }),
  settings: settingsRouter
})

export type AppRouter = typeof appRouter
