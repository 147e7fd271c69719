// The counts in a workspace's head: kept by difference, so that `/status` reads one row whatever the
// size of the ledger.
import type { CommitmentRecord, Counts, MemoryRecord } from "./records.ts"

type Tally = { -readonly [Name in keyof Counts]: Counts[Name] }

const addCommitment = (tally: Tally, record: CommitmentRecord, by: 1 | -1) => {
  tally[record.state] += by
  // «reopened counts commitments that are open because of a reopen (also counted in open)» (D4).
  if (record.reopened) tally.reopened += by
}

const addMemory = (tally: Tally, record: MemoryRecord, by: 1 | -1) => {
  tally[record.status] += by
}

interface Changed<Record> {
  readonly before: Record | undefined
  readonly after: Record
}

/** The counts after records have changed; `before` is undefined for a new record. */
export const countChanges = (
  counts: Counts,
  commitments: Iterable<Changed<CommitmentRecord>>,
  memories: Iterable<Changed<MemoryRecord>>
): Counts => {
  const tally: Tally = { ...counts }
  for (const { after, before } of commitments) {
    if (before !== undefined) addCommitment(tally, before, -1)
    addCommitment(tally, after, 1)
  }
  for (const { after, before } of memories) {
    if (before !== undefined) addMemory(tally, before, -1)
    addMemory(tally, after, 1)
  }
  return tally
}

export const totalMemories = (counts: Counts): number =>
  counts.untriaged + counts.triaged + counts.linked + counts.committed + counts.dismissed
