// The write path from outside: what a caller sent becomes an Operation, is checked against who sent
// it, and goes to the workspace's actor.
import { Effect } from "effect"
import type { Caller } from "./authenticate.ts"
import { Forbidden, InvalidRequest, type LedgerError } from "./errors.ts"
import { canonicalUuid } from "./ids.ts"
import { makeOperationRequest } from "./operationRequest.ts"
import { type Operation, parseOperation } from "./operations.ts"
import type { OperationReceipt } from "./vocabulary.ts"
import { WorkspaceActors } from "./workspaceActor.ts"

/** `POST /ops`: «the only write path; performs one operation». */
export const performOperation = Effect.fnUntraced(function* (
  caller: Caller,
  body: unknown,
  idempotencyKey: string | undefined
): Effect.fn.Return<OperationReceipt, LedgerError, WorkspaceActors> {
  const operation = yield* Effect.fromResult(parseOperation(body))
  yield* requireOwnWorkspace(caller, operation)
  const request = yield* Effect.fromResult(makeOperationRequest(operation, caller, idempotencyKey))
  const actors = yield* WorkspaceActors
  return yield* actors.perform(caller.workspaceId, request)
})

/** «`workspaceId` must be the token's workspace (403)» (D14). */
const requireOwnWorkspace = (caller: Caller, operation: Operation) => {
  if (operation.op !== "webhook.register" || operation.workspaceId === undefined) return Effect.void
  return canonicalUuid(operation.workspaceId) === caller.workspaceId
    ? Effect.void
    : Effect.fail(
        new Forbidden({ message: "The API token has no access to the workspace in workspaceId." })
      )
}

/** Without the header that names the workspace, `webhook.register` itself must name it (D14). */
export const requireWorkspaceNamed = (body: { readonly workspaceId?: unknown }) =>
  typeof body.workspaceId === "string" && body.workspaceId.trim() !== ""
    ? Effect.void
    : Effect.fail(
        new InvalidRequest({
          message:
            'The operation "webhook.register" requires the field "workspaceId" when the header X-Workspace-Id is not sent.'
        })
      )
