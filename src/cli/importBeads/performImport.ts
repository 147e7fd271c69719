// The import itself: every item's operations in their order, many items at once so that they share
// transactions. What was done before is looked up first, so nothing is done twice.
import { createHash } from "node:crypto"
import { Effect, Result, Schedule } from "effect"
import type { Caller } from "../../domain/authenticate.ts"
import type { LedgerError } from "../../domain/errors.ts"
import { canonicalJson } from "../../domain/hashChain.ts"
import { findImported, type ImportedCommitment } from "../../domain/importedWork.ts"
import { makeOperationRequest } from "../../domain/operationRequest.ts"
import { parseOperation } from "../../domain/operations.ts"
import { WorkspaceActors } from "../../domain/workspaceActor.ts"
import { type ItemPlan, planItem, remaining, SOURCE } from "./planItem.ts"
import type { BeadsItem } from "./readExport.ts"

/** How many operations of each kind an import performs. */
export interface Tally {
  commit: number
  claim: number
  annotate: number
  close: number
}

export interface ItemWork {
  readonly item: BeadsItem
  readonly plan: ItemPlan
  /** The commitment that an earlier import made of it. */
  readonly existing: ImportedCommitment | undefined
  readonly later: ItemPlan["later"]
}

export interface ItemFailure {
  readonly line: number
  readonly id: string
  readonly message: string
}

/** What is to be done for each item, in the order in which the items were made. */
export const planWork = Effect.fnUntraced(function* (
  workspaceId: string,
  items: ReadonlyArray<BeadsItem>
) {
  const imported = yield* findImported(workspaceId, SOURCE)
  return items.toSorted(byCreation).map((item): ItemWork => {
    const plan = planItem(item)
    const existing = imported.get(item.id)
    return {
      item,
      plan,
      existing,
      later: existing === undefined ? plan.later : remaining(plan, existing)
    }
  })
})

/** Lists are sorted newest first by creation here, so items are made in the order of theirs. */
const byCreation = (one: BeadsItem, other: BeadsItem) => {
  const [first, second] = [one.created_at ?? "", other.created_at ?? ""]
  return first < second ? -1 : first > second ? 1 : one.line - other.line
}

export const isDone = ({ existing, later }: ItemWork) =>
  existing !== undefined && later.length === 0

/** What the work comes to, without doing it. */
export const tallyOf = (work: ReadonlyArray<ItemWork>): Tally => {
  const tally: Tally = { commit: 0, claim: 0, annotate: 0, close: 0 }
  for (const { existing, later } of work) {
    if (existing === undefined) tally.commit += 1
    for (const { op } of later) tally[op] += 1
  }
  return tally
}

/** Enough to fill batches, few enough not to crowd out a running service. */
const ITEMS_AT_ONCE = 128

/** Does the work; an item that is refused is told in the end and does not hold up the others. */
export const performWork = Effect.fnUntraced(function* (
  work: ReadonlyArray<ItemWork>,
  caller: Caller,
  onItem: Effect.Effect<void>
) {
  const tally: Tally = { commit: 0, claim: 0, annotate: 0, close: 0 }
  const failures = yield* Effect.forEach(
    work.filter((item) => !isDone(item)),
    (one) =>
      performItem(one, caller, tally).pipe(
        Effect.match({
          onSuccess: () => [],
          onFailure: ({ message }): ReadonlyArray<ItemFailure> => [
            { line: one.item.line, id: one.item.id, message }
          ]
        }),
        Effect.ensuring(onItem)
      ),
    { concurrency: ITEMS_AT_ONCE }
  )
  return { tally, failures: failures.flat() }
})

/** An operation as it is sent, whichever of those that an import performs. */
type Performed = { readonly op: keyof Tally; readonly id?: string }

const performItem = Effect.fnUntraced(function* (
  { existing, item, later, plan }: ItemWork,
  caller: Caller,
  tally: Tally
) {
  const perform = Effect.fnUntraced(function* (operation: Performed) {
    const receipt = yield* performOnce(item, caller, operation)
    tally[operation.op] += 1
    return receipt.record_id
  })
  const id = existing?.id ?? (yield* perform(plan.commit))
  for (const operation of later) yield* perform({ ...operation, id })
})

/** A database that is away for a moment, or a service that is busy: nothing was performed. */
const PATIENCE = Schedule.upTo(Schedule.spaced("500 millis"), { times: 20 })

const performOnce = Effect.fnUntraced(function* (
  item: BeadsItem,
  caller: Caller,
  body: { readonly op: string }
) {
  const operation = yield* Effect.fromResult(parseOperation(body))
  const request = yield* Effect.fromResult(
    makeOperationRequest(operation, caller, keyOf(item, operation))
  )
  const actors = yield* WorkspaceActors
  return yield* actors.perform(caller.workspaceId, request).pipe(
    Effect.retry({
      schedule: PATIENCE,
      while: (error: LedgerError) => error._tag === "SERVER_ERROR"
    })
  )
})

/** The same operation for the same item has one key: two imports at once perform it once. */
const keyOf = (item: BeadsItem, operation: object) =>
  `${SOURCE}:${createHash("sha256")
    .update(canonicalJson([item.id, operation]))
    .digest("hex")}`

/** Why an item's operations would be refused, found before anything is performed. */
export const planProblem = (item: BeadsItem): string | undefined => {
  const { commit, later } = planItem(item)
  for (const operation of [commit, ...later.map((one) => ({ ...one, id: "cmt_" }))]) {
    const parsed = parseOperation(operation)
    if (Result.isFailure(parsed)) return parsed.failure.message
  }
  return undefined
}
