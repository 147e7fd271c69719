// Pure rules of memories: an operation and the record it names give the record after it. Every
// status accepts every operation (D6), so nothing here fails.
import type { OperationOf } from "./operations.ts"
import type { MemoryRecord } from "./records.ts"
import { MEMORY_TRANSITIONS, type MemoryTransitionOperation } from "./transitions.ts"

export type MemoryOperation = OperationOf<MemoryTransitionOperation | "annotate">

export const createMemory = (
  operation: OperationOf<"capture">,
  created: { readonly id: string; readonly seq: number; readonly now: number }
): MemoryRecord => ({
  id: created.id,
  createdSeq: created.seq,
  body: operation.body,
  kind: operation.kind ?? null,
  status: "untriaged",
  tags: operation.tags ?? [],
  priority: null,
  meta: operation.meta ?? {},
  createdAt: created.now,
  updatedAt: created.now
})

/** The memory after the operation, at the time `now`. */
export const decideMemory = (
  operation: MemoryOperation,
  current: MemoryRecord,
  now: number
): MemoryRecord => {
  const touched = { ...current, meta: { ...current.meta, ...operation.meta }, updatedAt: now }
  if (operation.op === "annotate") return touched
  const status = MEMORY_TRANSITIONS[operation.op][current.status]
  if (operation.op !== "triage") return { ...touched, status }
  return {
    ...touched,
    status,
    priority: operation.priority ?? current.priority,
    kind: operation.kind ?? current.kind
  }
}

/** «`committed`: a commitment was created directly from the memory» (D5). */
export const commitMemory = (current: MemoryRecord, now: number): MemoryRecord => ({
  ...current,
  status: "committed",
  updatedAt: now
})
