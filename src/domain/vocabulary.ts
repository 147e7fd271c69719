// The spec's nouns as zod shapes: what the reads answer. Types are inferred from them, and the
// OpenAPI document is generated from them, so each shape is said once.
import { z } from "zod"

export const COMMITMENT_STATES = ["open", "claimed", "in_review", "closed", "reopened"] as const
export const MEMORY_STATUSES = ["untriaged", "triaged", "linked", "committed", "dismissed"] as const

/** `reopened` can be asked for and is counted, but no commitment is ever stored in it (D4). */
export type CommitmentState = Exclude<(typeof COMMITMENT_STATES)[number], "reopened">
export type MemoryStatus = (typeof MEMORY_STATUSES)[number]
export type CloseResult = "pass" | "fail"

const timestamp = z.iso.datetime().meta({
  description: "ISO 8601, UTC, millisecond precision.",
  examples: ["2026-11-20T10:15:30.123Z"]
})
const commitmentId = z.string().meta({ examples: ["cmt_01h455vb4pex5vsknk084sn02q"] })
const memoryId = z.string().meta({ examples: ["mem_01h455vb4pex5vsknk084sn02q"] })
const operationId = z.string().meta({ examples: ["op_01h455vb4pex5vsknk084sn02q"] })
const meta = z.record(z.string(), z.unknown()).meta({ description: "Arbitrary metadata." })
const commitmentState = z.enum(COMMITMENT_STATES)
const result = z.enum(["pass", "fail"]).nullable()

/** One evidence object. Fields beside the listed ones are kept and shown as they were given. */
export const Evidence = z
  .looseObject({
    type: z.string().meta({ description: "Such as build, test, pr, screenshot or log." }),
    url: z.string().optional(),
    body: z.string().optional(),
    label: z.string().optional(),
    payload: z.record(z.string(), z.unknown()).optional()
  })
  .meta({ id: "Evidence", description: "What proves that work is done." })
export type Evidence = z.infer<typeof Evidence>

const historyEntry = { op_id: operationId, op: z.string(), actor: z.string(), timestamp }

export const CommitmentHistoryEntry = z
  .object({
    ...historyEntry,
    owner: z.string().optional(),
    body: z.string().optional(),
    kind: z.string().optional(),
    result: z.enum(["pass", "fail"]).optional(),
    summary: z.string().optional()
  })
  .meta({ id: "CommitmentHistoryEntry", description: "One operation on a commitment." })

export const MemoryHistoryEntry = z
  .object({ ...historyEntry, priority: z.string().optional(), target: commitmentId.optional() })
  .meta({ id: "MemoryHistoryEntry", description: "One operation on a memory." })

export const Annotation = z
  .object({
    op_id: operationId,
    body: z.string(),
    kind: z.string().nullable(),
    actor: z.string(),
    timestamp
  })
  .meta({ id: "Annotation", description: "A note that was put on a memory." })

const commitmentListFields = {
  id: commitmentId,
  title: z.string(),
  body: z.string().nullable(),
  state: commitmentState,
  owner: z.string().nullable(),
  priority: z.string().nullable(),
  tags: z.array(z.string()),
  created_at: timestamp,
  updated_at: timestamp,
  meta
}

export const CommitmentListItem = z
  .object(commitmentListFields)
  .meta({ id: "CommitmentListItem", description: "A work item as lists show it." })

export const Commitment = z
  .object({
    ...commitmentListFields,
    result,
    evidence: z.array(Evidence),
    history: z.array(CommitmentHistoryEntry),
    linked_memories: z.array(
      z.object({ id: memoryId, body: z.string(), kind: z.string().nullable() })
    )
  })
  .meta({ id: "Commitment", description: "A work item with its evidence and history." })

const memoryListFields = {
  id: memoryId,
  body: z.string(),
  kind: z.string().nullable(),
  status: z.enum(MEMORY_STATUSES),
  tags: z.array(z.string()),
  created_at: timestamp,
  updated_at: timestamp,
  meta
}

export const MemoryListItem = z
  .object(memoryListFields)
  .meta({ id: "MemoryListItem", description: "An observation as lists show it." })

export const Memory = z
  .object({
    ...memoryListFields,
    priority: z.string().nullable(),
    annotations: z.array(Annotation),
    linked_commitments: z.array(
      z.object({ id: commitmentId, title: z.string(), state: commitmentState, result })
    ),
    history: z.array(MemoryHistoryEntry)
  })
  .meta({ id: "Memory", description: "An observation with its notes, links and history." })

const count = z.int().min(0)

export const StatusSnapshot = z
  .object({
    commitments: z.object({
      open: count,
      claimed: count,
      in_review: count,
      closed: count,
      reopened: count
    }),
    memories: z.object({
      total: count,
      untriaged: count,
      dismissed: count,
      committed: count,
      linked: count
    }),
    ledger: z.object({ total_operations: count, last_operation_at: timestamp.nullable() })
  })
  .meta({ id: "StatusSnapshot", description: "Aggregate counts of the workspace." })

export const Pagination = z
  .object({ limit: count, offset: count, total: count })
  .meta({ id: "Pagination", description: "The page, and how many records match." })

export const OperationReceipt = z
  .object({
    success: z.literal(true),
    op_id: operationId,
    record_id: z.string().meta({
      description: "The affected commitment or memory (for link, the memory).",
      examples: ["cmt_01h455vb4pex5vsknk084sn02q"]
    })
  })
  .meta({ id: "OperationReceipt", description: "The operation is in the ledger." })

export type CommitmentListItem = z.infer<typeof CommitmentListItem>
export type Commitment = z.infer<typeof Commitment>
export type CommitmentHistoryEntry = z.infer<typeof CommitmentHistoryEntry>
export type MemoryListItem = z.infer<typeof MemoryListItem>
export type Memory = z.infer<typeof Memory>
export type MemoryHistoryEntry = z.infer<typeof MemoryHistoryEntry>
export type Annotation = z.infer<typeof Annotation>
export type StatusSnapshot = z.infer<typeof StatusSnapshot>
export type Pagination = z.infer<typeof Pagination>
export type OperationReceipt = z.infer<typeof OperationReceipt>

/** A page of a list, in the snapshot whose ledger time is `ledgerTime` (milliseconds). */
export interface Page<Item> {
  readonly data: ReadonlyArray<Item>
  readonly pagination: Pagination
  readonly ledgerTime: number
}
