// One operation on its way to the workspace actor, with what can be computed before the workspace is
// locked: the text that the ledger will keep, and the fingerprint that an Idempotency-Key is held to.

import { createHash } from "node:crypto"
import { Result } from "effect"
import { InvalidRequest } from "./errors.ts"
import { canonicalJson } from "./hashChain.ts"
import { LIMITS } from "./limits.ts"
import type { Operation } from "./operations.ts"

export interface OperationRequest {
  readonly operation: Operation
  /** The operation in canonical JSON, without a webhook's secret: what the entry will hold. */
  readonly payload: string
  /** Who is recorded: derived from the token (D21). */
  readonly actor: string
  readonly tokenId: string
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | undefined
}

const IDEMPOTENCY_KEY = new RegExp(`^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyCharacters}}$`)

/** Fails when the `Idempotency-Key` is not 1 to 255 printable characters (D22). */
export const makeOperationRequest = (
  operation: Operation,
  caller: { readonly actor: string; readonly tokenId: string },
  key: string | undefined
): Result.Result<OperationRequest, InvalidRequest> => {
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key)) {
    const message = `The header Idempotency-Key must be 1 to ${LIMITS.idempotencyKeyCharacters} printable ASCII characters.`
    return Result.fail(new InvalidRequest({ message }))
  }
  return Result.succeed({
    operation,
    payload: canonicalJson(withoutSecret(operation)),
    actor: caller.actor,
    tokenId: caller.tokenId,
    idempotency: key === undefined ? undefined : { key, fingerprint: fingerprint(operation) }
  })
}

/** «Webhook endpoints are entries too (without the secret).» */
const withoutSecret = (operation: Operation): object => {
  if (operation.op !== "webhook.register") return operation
  const { secret: _secret, workspaceId: _workspaceId, ...shown } = operation
  return shown
}

const fingerprint = (operation: Operation) =>
  createHash("sha256").update(canonicalJson(operation)).digest("hex")
