// A small pure model of the specification with its decisions: which operation is accepted where, and
// what every view shows then. Written from the documents, not from the service, and shares no code
// with it; histories.ts holds the two against each other.

import { type Code, canonical, isGiven, normalTags, problemOf, type Sent } from "./requests.ts"

/** Who sends: keys belong to a token, entries to an actor. */
export interface Client {
  readonly token: string
  readonly actor: string
}

export interface Receipt {
  readonly op_id: string
  readonly record_id: string
}

/** What the ledger says of an operation that was performed. */
export interface Performed extends Receipt {
  readonly actor: string
  readonly timestamp: string
}

/** What the specification demands as the answer. `repeats` is the answer that is given again (D22). */
export type Verdict =
  | { readonly accepted: true; readonly repeats?: Receipt }
  | { readonly accepted: false; readonly code: Code }

interface Commitment {
  readonly id: string
  readonly title: string
  readonly body: string | null
  state: "open" | "claimed" | "in_review" | "closed"
  result: string | null
  owner: string | null
  readonly priority: string | null
  readonly tags: ReadonlyArray<string>
  readonly created_at: string
  updated_at: string
  meta: object
  readonly evidence: Array<object>
  readonly history: Array<object>
  readonly memories: Array<string>
  /** Open because of a `reopen` (D4). */
  reopened: boolean
  /** Closed by an `approve` that no `close` has followed (D2). */
  approved: boolean
}

interface Memory {
  readonly id: string
  readonly body: string
  kind: string | null
  status: "untriaged" | "triaged" | "linked" | "dismissed" | "committed"
  readonly tags: ReadonlyArray<string>
  priority: string | null
  readonly created_at: string
  updated_at: string
  meta: object
  readonly annotations: Array<object>
  readonly history: Array<object>
  readonly commitments: Array<string>
}

interface Kept {
  readonly operation: string
  readonly receipt: Receipt
}

export interface Model {
  /** In the order of their creation. */
  readonly commitments: Map<string, Commitment>
  readonly memories: Map<string, Memory>
  readonly webhooks: Map<string, string>
  readonly kept: Map<string, Kept>
  operations: number
  lastTime: string | null
}

export const emptyModel = (): Model => ({
  commitments: new Map(),
  memories: new Map(),
  webhooks: new Map(),
  kept: new Map(),
  operations: 0,
  lastTime: null
})

// --- What is accepted where ---

/** Spec, «Commitment states», with D1 to D3: from which states, and to which. */
const MOVES: Readonly<Record<string, readonly [ReadonlyArray<string>, Commitment["state"]]>> = {
  claim: [["open"], "claimed"],
  release: [["claimed"], "open"],
  submit: [["claimed"], "in_review"],
  approve: [["in_review"], "closed"],
  close: [["open", "claimed", "in_review"], "closed"],
  reopen: [["closed"], "open"]
}

const refuse = (code: Code): Verdict => ({ accepted: false, code })
const ACCEPTED: Verdict = { accepted: true }

const keyOf = (client: Client, key: string) => JSON.stringify([client.token, key])

/** The answer that the operation must get now. */
export const judge = (
  model: Model,
  client: Client,
  sent: Sent,
  key: string | undefined
): Verdict => {
  const problem = problemOf(sent)
  if (problem !== undefined) return refuse(problem)
  const kept = key === undefined ? undefined : model.kept.get(keyOf(client, key))
  if (kept !== undefined) {
    return kept.operation === canonical(sent)
      ? { accepted: true, repeats: kept.receipt }
      : refuse("VALIDATION_ERROR")
  }
  return judgeRecords(model, sent)
}

const judgeRecords = (model: Model, sent: Sent): Verdict => {
  const { commitments, memories } = model
  const known = (isKnown: boolean) => (isKnown ? ACCEPTED : refuse("NOT_FOUND"))
  switch (sent.op) {
    case "capture":
    case "webhook.register":
      return ACCEPTED
    case "commit":
      return known(!isGiven(sent.source) || memories.has(String(sent.source)))
    case "annotate":
      return known(commitments.has(sent.id) || memories.has(sent.id))
    case "link":
      return known(memories.has(sent.id) && commitments.has(sent.target))
    case "dismiss":
    case "triage":
      return known(memories.has(sent.id))
  }
  const commitment = commitments.get(sent.id)
  if (commitment === undefined) return refuse("NOT_FOUND")
  if (sent.op === "close" && commitment.approved) return ACCEPTED
  return MOVES[sent.op]?.[0].includes(commitment.state) ? ACCEPTED : refuse("VALIDATION_ERROR")
}

// --- What an accepted operation does ---

/** Performs an accepted operation as the ledger's next entry. */
export const perform = (
  model: Model,
  client: Client,
  sent: Sent,
  key: string | undefined,
  performed: Performed
): void => {
  model.operations += 1
  model.lastTime = performed.timestamp
  if (key !== undefined) {
    const { op_id, record_id } = performed
    model.kept.set(keyOf(client, key), {
      operation: canonical(sent),
      receipt: { op_id, record_id }
    })
  }
  if (sent.op === "webhook.register") model.webhooks.set(sent.url, performed.record_id)
  else if (sent.op === "capture") captureMemory(model, sent, performed)
  else if (sent.op === "commit") createCommitment(model, sent, performed)
  else {
    const commitment = model.commitments.get(sent.id)
    const memory = model.memories.get(sent.id)
    if (commitment !== undefined) changeCommitment(commitment, sent, performed)
    if (memory !== undefined) changeMemory(model, memory, sent, performed)
  }
}

const entryOf = (sent: Sent, { actor, op_id, timestamp }: Performed) => ({
  op_id,
  op: sent.op,
  actor,
  timestamp
})

/** «Conditional keys only for the listed operation and when given» (D26). */
const shown = (sent: Sent, names: ReadonlyArray<string>) =>
  Object.fromEntries(names.filter((name) => isGiven(sent[name])).map((name) => [name, sent[name]]))

const captureMemory = (model: Model, sent: Sent, performed: Performed) => {
  model.memories.set(performed.record_id, {
    id: performed.record_id,
    body: sent.body,
    kind: sent.kind ?? null,
    status: "untriaged",
    tags: normalTags(sent.tags),
    priority: null,
    created_at: performed.timestamp,
    updated_at: performed.timestamp,
    meta: sent.meta ?? {},
    annotations: [],
    history: [entryOf(sent, performed)],
    commitments: []
  })
}

const createCommitment = (model: Model, sent: Sent, performed: Performed) => {
  const commitment: Commitment = {
    id: performed.record_id,
    title: sent.title,
    body: sent.body ?? null,
    state: "open",
    result: null,
    owner: null,
    priority: sent.priority ?? null,
    tags: normalTags(sent.tags),
    created_at: performed.timestamp,
    updated_at: performed.timestamp,
    meta: sent.meta ?? {},
    evidence: [],
    history: [entryOf(sent, performed)],
    memories: [],
    reopened: false,
    approved: false
  }
  model.commitments.set(commitment.id, commitment)
  const source = model.memories.get(sent.source)
  if (source === undefined) return
  source.status = "committed"
  source.updated_at = performed.timestamp
  associate(source, commitment)
}

/** «The same link again: one association» (D6). */
const associate = (memory: Memory, commitment: Commitment) => {
  if (memory.commitments.includes(commitment.id)) return
  memory.commitments.push(commitment.id)
  commitment.memories.push(memory.id)
}

const touch = (record: Commitment | Memory, sent: Sent, performed: Performed) => {
  record.meta = { ...record.meta, ...sent.meta }
  record.updated_at = performed.timestamp
}

const COMMITMENT_KEYS: Readonly<Record<string, ReadonlyArray<string>>> = {
  claim: ["owner"],
  annotate: ["body", "kind"],
  approve: ["body"],
  close: ["result", "summary"]
}

const changeCommitment = (commitment: Commitment, sent: Sent, performed: Performed) => {
  touch(commitment, sent, performed)
  commitment.history.push({
    ...entryOf(sent, performed),
    ...shown(sent, COMMITMENT_KEYS[sent.op] ?? [])
  })
  if (sent.op === "annotate") return
  commitment.state = MOVES[sent.op]?.[1] ?? commitment.state
  commitment.approved = sent.op === "approve"
  commitment.reopened = sent.op === "reopen"
  commitment.evidence.push(...(sent.evidence ?? []))
  switch (sent.op) {
    case "claim":
      commitment.owner = sent.owner
      break
    case "release":
      commitment.owner = null
      break
    case "approve":
      commitment.result = "pass"
      break
    case "close":
      commitment.result = sent.result
      break
    case "reopen":
      commitment.owner = null
      commitment.result = null
  }
}

const MEMORY_KEYS: Readonly<Record<string, ReadonlyArray<string>>> = {
  triage: ["priority"],
  link: ["target"]
}

const changeMemory = (model: Model, memory: Memory, sent: Sent, performed: Performed) => {
  touch(memory, sent, performed)
  const entry = entryOf(sent, performed)
  memory.history.push({ ...entry, ...shown(sent, MEMORY_KEYS[sent.op] ?? []) })
  const { actor, op_id, timestamp } = entry
  const note = { op_id, body: sent.body, actor, timestamp }
  switch (sent.op) {
    case "annotate":
      memory.annotations.push({ ...note, kind: sent.kind ?? null })
      break
    case "dismiss":
      memory.status = "dismissed"
      break
    case "link": {
      const target = model.commitments.get(sent.target)
      memory.status = "linked"
      if (target !== undefined) associate(memory, target)
      break
    }
    case "triage":
      if (memory.status === "untriaged" || memory.status === "dismissed") memory.status = "triaged"
      memory.priority = sent.priority ?? memory.priority
      memory.kind = sent.kind ?? memory.kind
      if (isGiven(sent.body)) memory.annotations.push({ ...note, kind: "triage" })
  }
}
