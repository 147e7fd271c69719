// What the five reads must answer for a model: the spec's resources with exactly the spec's keys.
import type { Model } from "./model.ts"

type CommitmentOf<M extends Model> = M["commitments"] extends Map<string, infer C> ? C : never
type MemoryOf<M extends Model> = M["memories"] extends Map<string, infer C> ? C : never
type Commitment = CommitmentOf<Model>
type Memory = MemoryOf<Model>

const commitmentItem = (commitment: Commitment) => ({
  id: commitment.id,
  title: commitment.title,
  body: commitment.body,
  state: commitment.state,
  owner: commitment.owner,
  priority: commitment.priority,
  tags: commitment.tags,
  created_at: commitment.created_at,
  updated_at: commitment.updated_at,
  meta: commitment.meta
})

const memoryItem = (memory: Memory) => ({
  id: memory.id,
  body: memory.body,
  kind: memory.kind,
  status: memory.status,
  tags: memory.tags,
  created_at: memory.created_at,
  updated_at: memory.updated_at,
  meta: memory.meta
})

export const commitmentView = (model: Model, commitment: Commitment) => ({
  ...commitmentItem(commitment),
  result: commitment.result,
  evidence: commitment.evidence,
  history: commitment.history,
  linked_memories: commitment.memories.map((id) => {
    const memory = model.memories.get(id)
    return { id, body: memory?.body, kind: memory?.kind }
  })
})

export const memoryView = (model: Model, memory: Memory) => ({
  ...memoryItem(memory),
  priority: memory.priority,
  annotations: memory.annotations,
  linked_commitments: memory.commitments.map((id) => {
    const commitment = model.commitments.get(id)
    return { id, title: commitment?.title, state: commitment?.state, result: commitment?.result }
  }),
  history: memory.history
})

const count = <Item>(items: Iterable<Item>, matches: (item: Item) => boolean) =>
  Array.from(items).filter(matches).length

export const statusView = ({ commitments, lastTime, memories, operations }: Model) => {
  const inState = (state: Commitment["state"]) =>
    count(commitments.values(), (commitment) => commitment.state === state)
  const withStatus = (status: Memory["status"]) =>
    count(memories.values(), (memory) => memory.status === status)
  return {
    commitments: {
      open: inState("open"),
      claimed: inState("claimed"),
      in_review: inState("in_review"),
      closed: inState("closed"),
      reopened: count(commitments.values(), ({ reopened }) => reopened)
    },
    memories: {
      total: memories.size,
      untriaged: withStatus("untriaged"),
      dismissed: withStatus("dismissed"),
      committed: withStatus("committed"),
      linked: withStatus("linked")
    },
    ledger: { total_operations: operations, last_operation_at: lastTime }
  }
}

/** Parameters of a list, as they are written into the query. */
export interface ListQuery {
  readonly limit?: number | undefined
  readonly offset?: number | undefined
  readonly since?: string | undefined
  readonly state?: string | undefined
  readonly owner?: string | undefined
  readonly tags?: string | undefined
  readonly reopened?: boolean | undefined
  readonly kind?: string | undefined
  readonly status?: string | undefined
}

const page = <Item>(items: ReadonlyArray<Item>, query: ListQuery) => {
  const limit = Math.min(query.limit ?? 50, 100)
  const offset = query.offset ?? 0
  return {
    success: true,
    // Newest first, by creation (D8).
    data: items.toReversed().slice(offset, offset + limit),
    pagination: { limit, offset, total: items.length }
  }
}

export const commitmentsView = ({ commitments }: Model, query: ListQuery) => {
  const tags = query.tags?.split(",")
  const matching = Array.from(commitments.values()).filter(
    (commitment) =>
      (query.state === undefined || commitment.state === query.state) &&
      (query.owner === undefined || commitment.owner === query.owner) &&
      (query.reopened === undefined || commitment.reopened === query.reopened) &&
      (query.since === undefined || commitment.updated_at > query.since) &&
      (tags === undefined || tags.some((tag) => commitment.tags.includes(tag)))
  )
  return page(matching.map(commitmentItem), query)
}

export const memoriesView = ({ memories }: Model, query: ListQuery) => {
  const matching = Array.from(memories.values()).filter(
    (memory) =>
      (query.kind === undefined || memory.kind === query.kind) &&
      (query.since === undefined || memory.created_at > query.since) &&
      (query.status === undefined
        ? memory.status !== "dismissed"
        : query.status === "all" || memory.status === query.status)
  )
  return page(matching.map(memoryItem), query)
}
