// What the ledger is about, as the domain holds it in memory: the two kinds of record, the links
// between them, an entry, and the head of a workspace. Times are milliseconds since the epoch.
import type { JsonObject } from "./jsonValue.ts"
import type { CloseResult, CommitmentState, MemoryStatus } from "./vocabulary.ts"

export interface CommitmentRecord {
  readonly id: string
  /** Sequence of the entry that created it: lists are sorted by it (D8). */
  readonly createdSeq: number
  readonly title: string
  readonly body: string | null
  readonly state: CommitmentState
  readonly result: CloseResult | null
  readonly owner: string | null
  readonly priority: string | null
  readonly tags: ReadonlyArray<string>
  readonly meta: JsonObject
  /** The source memory, else the first memory that was linked (D5). */
  readonly memoryId: string | null
  /** Open because of a `reopen` (D4). */
  readonly reopened: boolean
  /** Closed by an `approve` whose result no `close` has recorded yet (D2). */
  readonly approved: boolean
  readonly createdAt: number
  readonly updatedAt: number
  readonly closedAt: number | null
}

export interface MemoryRecord {
  readonly id: string
  readonly createdSeq: number
  readonly body: string
  readonly kind: string | null
  readonly status: MemoryStatus
  readonly tags: ReadonlyArray<string>
  readonly priority: string | null
  readonly meta: JsonObject
  readonly createdAt: number
  readonly updatedAt: number
}

export interface Link {
  readonly memoryId: string
  readonly commitmentId: string
  /** Sequence of the entry that made the association. */
  readonly seq: number
}

/** A registered receiver of callbacks. */
export interface WebhookEndpoint {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly events: ReadonlyArray<string>
  /** Only moves into these states are sent; empty means every callback move. */
  readonly states: ReadonlyArray<string>
  /** A disabled endpoint gets no new deliveries. */
  readonly enabled: boolean
  /** After a rotation both secrets sign for a while. */
  readonly previousSecret: { readonly secret: string; readonly until: number } | null
  readonly createdAt: number
  readonly updatedAt: number
}

export interface LedgerEntry {
  readonly seq: number
  readonly opId: string
  readonly op: string
  readonly actor: string
  readonly recordId: string
  readonly time: number
  /** The operation in RFC 8785 canonical JSON, kept as text so that its hash can be recomputed. */
  readonly payload: string
  readonly previousHash: Uint8Array
  readonly hash: Uint8Array
}

/** How many records are in each state: what `GET /status` answers without counting. */
export interface Counts {
  readonly open: number
  readonly claimed: number
  readonly in_review: number
  readonly closed: number
  readonly reopened: number
  readonly untriaged: number
  readonly triaged: number
  readonly linked: number
  readonly committed: number
  readonly dismissed: number
}

/** The end of a workspace's ledger: its one row is locked by whoever writes. */
export interface Head {
  readonly workspaceId: string
  readonly lastSeq: number
  readonly lastHash: Uint8Array
  /** Time of the last entry; before the first one, when the workspace was made. */
  readonly lastTime: number
  readonly counts: Counts
}

export const NO_COUNTS: Counts = {
  open: 0,
  claimed: 0,
  in_review: 0,
  closed: 0,
  reopened: 0,
  untriaged: 0,
  triaged: 0,
  linked: 0,
  committed: 0,
  dismissed: 0
}
