// Replaying a ledger: its entries, in their order, folded into the records that they made, by the
// same pure rules that accepted them. Called by verify.ts; nothing here reads or writes a table.
import { Result } from "effect"
import { compactOperation } from "./compactRecord.ts"
import { createCommitment, decideCommitment } from "./decideCommitment.ts"
import { commitMemory, createMemory, decideMemory, type MemoryOperation } from "./decideMemory.ts"
import { entryHash } from "./hashChain.ts"
import { isMemoryId } from "./ids.ts"
import { isJsonObject } from "./jsonValue.ts"
import { quote } from "./limits.ts"
import type { Operation, OperationOf } from "./operations.ts"
import type { CommitmentRecord, LedgerEntry, Link, MemoryRecord } from "./records.ts"

/** What a ledger has made so far. Long texts are digests (compactRecord.ts). */
export interface Projection {
  readonly commitments: Map<string, CommitmentRecord>
  readonly memories: Map<string, MemoryRecord>
  /** By `linkName`. */
  readonly links: Map<string, Link>
}

export const emptyProjection = (): Projection => ({
  commitments: new Map(),
  memories: new Map(),
  links: new Map()
})

export const linkName = (link: Pick<Link, "memoryId" | "commitmentId">) =>
  `${link.memoryId} ${link.commitmentId}`

interface EntryFormat {
  readonly hash: (workspaceId: string, entry: LedgerEntry) => Uint8Array
  /** Folds the entry in; answers why it cannot be what happened, or undefined. */
  readonly replay: (projection: Projection, entry: LedgerEntry) => string | undefined
}

/** How entries of each format version are hashed and replayed. Old versions stay here for ever. */
const ENTRY_FORMATS: Readonly<Record<number, EntryFormat>> = {
  1: {
    hash: entryHash,
    replay: (projection, entry) => {
      const operation = readOperation(entry)
      if (operation === undefined) return "its payload is not the operation that it names"
      return apply(projection, compactOperation(operation), entry)
    }
  }
}

/** Undefined for entries of a version that this program does not know. */
export const entryFormat = (version: number): EntryFormat | undefined => ENTRY_FORMATS[version]

/** The hash has vouched for the payload, which was checked when it was written. */
const readOperation = ({ op, payload }: LedgerEntry): Operation | undefined => {
  const parsed = Result.try((): unknown => JSON.parse(payload))
  if (Result.isFailure(parsed) || !isJsonObject(parsed.success)) return undefined
  return parsed.success.op === op ? (parsed.success as unknown as Operation) : undefined
}

const apply = (
  projection: Projection,
  operation: Operation,
  entry: LedgerEntry
): string | undefined => {
  const created = { id: entry.recordId, seq: entry.seq, now: entry.time }
  switch (operation.op) {
    case "capture":
      projection.memories.set(created.id, createMemory(operation, created))
      return undefined
    case "commit":
      return applyCommit(projection, operation, created)
    case "link":
      return applyLink(projection, operation, entry)
    case "triage":
    case "dismiss":
      return applyToMemory(projection, operation, entry)
    case "annotate":
      return isMemoryId(operation.id)
        ? applyToMemory(projection, operation, entry)
        : applyToCommitment(projection, operation, entry)
    // An entry, but not a change of any record: settings edit endpoints too.
    case "webhook.register":
      return undefined
    default:
      return applyToCommitment(projection, operation, entry)
  }
}

const unknown = (id: string) => `it names ${quote(id)}, which did not exist`

const applyCommit = (
  projection: Projection,
  operation: OperationOf<"commit">,
  created: { readonly id: string; readonly seq: number; readonly now: number }
): string | undefined => {
  projection.commitments.set(created.id, createCommitment(operation, created))
  if (operation.source === undefined) return undefined
  const memory = projection.memories.get(operation.source)
  if (memory === undefined) return unknown(operation.source)
  projection.memories.set(memory.id, commitMemory(memory, created.now))
  addLink(projection, { memoryId: memory.id, commitmentId: created.id, seq: created.seq })
  return undefined
}

const applyLink = (
  projection: Projection,
  operation: OperationOf<"link">,
  entry: LedgerEntry
): string | undefined => {
  const commitment = projection.commitments.get(operation.target)
  if (commitment === undefined) return unknown(operation.target)
  const problem = applyToMemory(projection, operation, entry)
  if (problem !== undefined) return problem
  addLink(projection, {
    memoryId: operation.id,
    commitmentId: commitment.id,
    seq: entry.seq
  })
  if (commitment.memoryId === null) {
    projection.commitments.set(commitment.id, { ...commitment, memoryId: operation.id })
  }
  return undefined
}

/** «The same link again: one association» (D6). */
const addLink = ({ links }: Projection, link: Link) => {
  const name = linkName(link)
  if (!links.has(name)) links.set(name, link)
}

const applyToMemory = (
  { memories }: Projection,
  operation: MemoryOperation,
  entry: LedgerEntry
): string | undefined => {
  const memory = memories.get(operation.id)
  if (memory === undefined) return unknown(operation.id)
  memories.set(memory.id, decideMemory(operation, memory, entry.time))
  return recordProblem(operation.id, entry)
}

const applyToCommitment = (
  { commitments }: Projection,
  operation: Parameters<typeof decideCommitment>[0],
  entry: LedgerEntry
): string | undefined => {
  const commitment = commitments.get(operation.id)
  if (commitment === undefined) return unknown(operation.id)
  const decided = decideCommitment(operation, commitment, entry.time)
  if (Result.isFailure(decided)) return `the rules refuse it: ${decided.failure.message}`
  commitments.set(commitment.id, decided.success)
  return recordProblem(operation.id, entry)
}

const recordProblem = (id: string, entry: LedgerEntry) =>
  id === entry.recordId ? undefined : `its record is not ${quote(id)}, which its payload names`
