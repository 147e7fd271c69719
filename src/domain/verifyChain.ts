// The first half of verification: the entries of a workspace, in order, against their hash chain and
// the rules. Called by verify.ts inside its snapshot.
import { Effect } from "effect"
import { GENESIS_HASH } from "./hashChain.ts"
import { PAGE_ENTRIES } from "./readLedger.ts"
import type { Head, LedgerEntry } from "./records.ts"
import { emptyProjection, entryFormat, type Projection } from "./replay.ts"
import { type EntryRow, readEntries, toEntry } from "./store/entries.ts"

/** The first thing that does not match. */
export interface Problem {
  readonly subject: "entry" | "head" | "commitment" | "memory" | "link"
  /** Where in the ledger: of an entry its own sequence, of a record that of the entry that made it. */
  readonly seq: number | null
  /** The `op_id` of an entry, the id of a record; null when there is none. */
  readonly id: string | null
  /** Which column or field. */
  readonly differs: string
  readonly message: string
}

export interface ReplayedChain {
  readonly entries: number
  readonly lastHash: Uint8Array
  readonly lastTime: number
  readonly projection: Projection
  readonly problem: Problem | undefined
}

/** Follows the chain from its beginning to the first entry that does not fit. */
export const replayChain = Effect.fnUntraced(function* (head: Head) {
  const projection = emptyProjection()
  let previous: Pick<LedgerEntry, "seq" | "hash" | "time"> = {
    seq: 0,
    hash: GENESIS_HASH,
    time: Number.NEGATIVE_INFINITY
  }
  const at = (problem: Problem | undefined): ReplayedChain => ({
    entries: previous.seq,
    lastHash: previous.hash,
    lastTime: previous.time,
    projection,
    problem
  })
  while (true) {
    const rows = yield* readEntries(head.workspaceId, previous.seq, PAGE_ENTRIES)
    for (const row of rows) {
      const entry = toEntry(row)
      const problem = entryProblem(head.workspaceId, { row, entry, previous, projection })
      if (problem !== undefined) return at(problem)
      previous = { seq: entry.seq, hash: entry.hash, time: entry.time }
    }
    if (rows.length < PAGE_ENTRIES) break
  }
  return at(previous.seq < head.lastSeq ? missingEntry(previous.seq + 1, head.lastSeq) : undefined)
})

const missingEntry = (seq: number, next: number): Problem => ({
  subject: "entry",
  seq,
  id: null,
  differs: "seq",
  message: `Entry ${seq} is missing: the ledger goes on to ${next}.`
})

/** What is wrong with an entry, in this order; otherwise it is folded into the projection. */
const entryProblem = (
  workspaceId: string,
  context: {
    readonly row: EntryRow
    readonly entry: LedgerEntry
    readonly previous: Pick<LedgerEntry, "seq" | "hash" | "time">
    readonly projection: Projection
  }
): Problem | undefined => {
  const { entry, previous, projection, row } = context
  const problem = (differs: string, message: string): Problem => ({
    subject: "entry",
    seq: entry.seq,
    id: entry.opId,
    differs,
    message: `Entry ${entry.seq} (${entry.opId}): ${message}.`
  })
  if (entry.seq !== previous.seq + 1) return missingEntry(previous.seq + 1, entry.seq)
  const format = entryFormat(row.format)
  if (format === undefined) {
    return problem("format", `this program does not know the format ${row.format}`)
  }
  if (!isSame(entry.previousHash, previous.hash)) {
    return problem("prev_hash", "it does not follow the entry before it")
  }
  if (!isSame(entry.hash, format.hash(workspaceId, entry))) {
    return problem("hash", "its hash is not the hash of what it holds")
  }
  if (entry.time < previous.time) return problem("time", "it is older than the entry before it")
  const refusal = format.replay(projection, entry)
  return refusal === undefined ? undefined : problem("payload", refusal)
}

const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0
