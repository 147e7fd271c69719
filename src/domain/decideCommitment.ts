// Pure rules of commitments: an operation and the record it names give the record after it, or the
// reason why not. What is accepted where stands in transitions.ts.
import { Result } from "effect"
import { ValidationError } from "./errors.ts"
import type { OperationOf } from "./operations.ts"
import type { CommitmentRecord } from "./records.ts"
import { COMMITMENT_TRANSITIONS, type TransitionOperation } from "./transitions.ts"
import type { CommitmentState } from "./vocabulary.ts"

export type CommitmentOperation = OperationOf<TransitionOperation | "annotate">

export const createCommitment = (
  operation: OperationOf<"commit">,
  created: { readonly id: string; readonly seq: number; readonly now: number }
): CommitmentRecord => ({
  id: created.id,
  createdSeq: created.seq,
  title: operation.title,
  body: operation.body ?? null,
  state: "open",
  result: null,
  owner: null,
  priority: operation.priority ?? null,
  tags: operation.tags ?? [],
  meta: operation.meta ?? {},
  memoryId: operation.source ?? null,
  reopened: false,
  approved: false,
  createdAt: created.now,
  updatedAt: created.now,
  closedAt: null
})

/** The commitment after the operation, at the time `now`. Fails when its state does not allow it. */
export const decideCommitment = (
  operation: CommitmentOperation,
  current: CommitmentRecord,
  now: number
): Result.Result<CommitmentRecord, ValidationError> => {
  const touched = {
    ...current,
    meta: { ...current.meta, ...operation.meta },
    updatedAt: now
  }
  // «`annotate` never changes state.»
  if (operation.op === "annotate") return Result.succeed(touched)
  if (recordsResultOfApproval(operation, current)) {
    return Result.succeed({ ...touched, result: operation.result, approved: false })
  }
  return Result.map(nextState(operation.op, current), (state) =>
    moved(operation, { ...touched, state, reopened: false, approved: false }, now)
  )
}

/** Documented clients approve and then close: that close records the result, once (D2). */
const recordsResultOfApproval = (
  operation: CommitmentOperation,
  current: CommitmentRecord
): operation is OperationOf<"close"> => operation.op === "close" && current.approved

const moved = (
  operation: OperationOf<TransitionOperation>,
  commitment: CommitmentRecord,
  now: number
): CommitmentRecord => {
  switch (operation.op) {
    case "claim":
      return { ...commitment, owner: operation.owner }
    case "release":
      return { ...commitment, owner: null }
    case "submit":
      return commitment
    case "approve":
      return { ...commitment, result: "pass", approved: true, closedAt: now }
    case "close":
      return { ...commitment, result: operation.result, closedAt: now }
    case "reopen":
      return { ...commitment, owner: null, result: null, reopened: true, closedAt: null }
  }
}

/** «The message names the current state and the required state.» */
const nextState = (
  op: TransitionOperation,
  current: CommitmentRecord
): Result.Result<CommitmentState, ValidationError> => {
  const { from, to } = COMMITMENT_TRANSITIONS[op]
  if ((from as ReadonlyArray<CommitmentState>).includes(current.state)) return Result.succeed(to)
  const required = from.map((state) => `"${state}"`).join(" or ")
  return Result.fail(
    new ValidationError({
      message: `The operation "${op}" requires the state ${required}, but commitment ${current.id} is in the state "${current.state}".`
    })
  )
}
