// Pure: records and their history as the spec's resources, with exactly the spec's keys (D26).
import { totalMemories } from "./counts.ts"
import type { CommitmentRecord, Head, MemoryRecord } from "./records.ts"
import type { HistoryEntry } from "./store/reading.ts"
import { toIso } from "./time.ts"
import type {
  Annotation,
  Commitment,
  CommitmentHistoryEntry,
  CommitmentListItem,
  Evidence,
  Memory,
  MemoryHistoryEntry,
  MemoryListItem,
  StatusSnapshot
} from "./vocabulary.ts"

export const commitmentListItem = (record: CommitmentRecord): CommitmentListItem => ({
  id: record.id,
  title: record.title,
  body: record.body,
  state: record.state,
  owner: record.owner,
  priority: record.priority,
  tags: [...record.tags],
  created_at: toIso(record.createdAt),
  updated_at: toIso(record.updatedAt),
  meta: record.meta
})

export const commitmentView = (
  record: CommitmentRecord,
  history: ReadonlyArray<HistoryEntry>,
  linkedMemories: Commitment["linked_memories"]
): Commitment => ({
  ...commitmentListItem(record),
  result: record.result,
  evidence: history.flatMap(evidenceOf),
  history: history.map(commitmentHistoryEntry),
  linked_memories: linkedMemories
})

export const memoryListItem = (record: MemoryRecord): MemoryListItem => ({
  id: record.id,
  body: record.body,
  kind: record.kind,
  status: record.status,
  tags: [...record.tags],
  created_at: toIso(record.createdAt),
  updated_at: toIso(record.updatedAt),
  meta: record.meta
})

export const memoryView = (
  record: MemoryRecord,
  history: ReadonlyArray<HistoryEntry>,
  linkedCommitments: Memory["linked_commitments"]
): Memory => ({
  ...memoryListItem(record),
  priority: record.priority,
  annotations: history.flatMap(annotationOf),
  linked_commitments: linkedCommitments,
  history: history.map(memoryHistoryEntry)
})

export const statusView = (head: Head): StatusSnapshot => {
  const { claimed, closed, in_review, open, reopened } = head.counts
  const { committed, dismissed, linked, untriaged } = head.counts
  return {
    commitments: { open, claimed, in_review, closed, reopened },
    memories: { total: totalMemories(head.counts), untriaged, dismissed, committed, linked },
    ledger: {
      total_operations: head.lastSeq,
      last_operation_at: head.lastSeq === 0 ? null : toIso(head.lastTime)
    }
  }
}

/** Evidence comes with `submit` and `close`, and is shown as it was given. */
const evidenceOf = ({ operation }: HistoryEntry): ReadonlyArray<Evidence> =>
  Array.isArray(operation.evidence) ? operation.evidence : []

const historyEntry = (entry: HistoryEntry) => ({
  op_id: entry.opId,
  op: entry.op,
  actor: entry.actor,
  timestamp: toIso(entry.time)
})

/** Which fields of an operation its history entry shows, when they were given. */
const COMMITMENT_HISTORY_FIELDS: Readonly<Record<string, ReadonlyArray<string>>> = {
  claim: ["owner"],
  annotate: ["body", "kind"],
  approve: ["body"],
  close: ["result", "summary"]
}
const MEMORY_HISTORY_FIELDS: Readonly<Record<string, ReadonlyArray<string>>> = {
  triage: ["priority"],
  link: ["target"]
}

const shownFields = (entry: HistoryEntry, fields: ReadonlyArray<string> = []) =>
  Object.fromEntries(
    fields
      .filter((field) => entry.operation[field] !== undefined)
      .map((field) => [field, entry.operation[field]])
  )

const commitmentHistoryEntry = (entry: HistoryEntry): CommitmentHistoryEntry => ({
  ...historyEntry(entry),
  ...shownFields(entry, COMMITMENT_HISTORY_FIELDS[entry.op])
})

const memoryHistoryEntry = (entry: HistoryEntry): MemoryHistoryEntry => ({
  ...historyEntry(entry),
  ...shownFields(entry, MEMORY_HISTORY_FIELDS[entry.op])
})

/** A note: an `annotate`, or a `triage` with a `body`, whose kind is then `triage` (D6). */
const annotationOf = (entry: HistoryEntry): ReadonlyArray<Annotation> => {
  const { body, kind } = entry.operation
  if (typeof body !== "string" || (entry.op !== "annotate" && entry.op !== "triage")) return []
  const { actor, op_id, timestamp } = historyEntry(entry)
  const noteKind = entry.op === "triage" ? "triage" : typeof kind === "string" ? kind : null
  return [{ op_id, body, kind: noteKind, actor, timestamp }]
}
