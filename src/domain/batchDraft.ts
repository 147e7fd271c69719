// The working copy of a workspace while a batch is decided: what was loaded, overlaid with what the
// operations so far have changed. Only decideBatch.ts uses it.
import { Result } from "effect"
import type { CallbackMove } from "./callback.ts"
import { NotFound } from "./errors.ts"
import { quote } from "./limits.ts"
import type {
  CommitmentRecord,
  Head,
  LedgerEntry,
  Link,
  MemoryRecord,
  WebhookEndpoint
} from "./records.ts"
import type { OperationReceipt } from "./vocabulary.ts"

/** An answer that an `Idempotency-Key` stands for. */
export interface KeptAnswer {
  readonly tokenId: string
  readonly key: string
  /** SHA-256 of the canonical operation: another operation under the same key is refused. */
  readonly fingerprint: string
  readonly receipt: OperationReceipt
}

/** What the transaction loaded under the lock of the head row. */
export interface Loaded {
  readonly head: Head
  readonly commitments: ReadonlyArray<CommitmentRecord>
  readonly memories: ReadonlyArray<MemoryRecord>
  readonly links: ReadonlyArray<Link>
  readonly endpoints: ReadonlyArray<WebhookEndpoint>
  readonly keptAnswers: ReadonlyArray<KeptAnswer>
}

/** Records by id, remembering which were loaded and which have changed since. */
export class RecordSet<Record extends { readonly id: string }> {
  readonly changed = new Map<string, Record>()
  readonly #loaded: Map<string, Record>
  readonly #noun: string

  constructor(noun: string, loaded: ReadonlyArray<Record>) {
    this.#noun = noun
    this.#loaded = new Map(loaded.map((record) => [record.id, record]))
  }

  require(id: string): Result.Result<Record, NotFound> {
    const record = this.changed.get(id) ?? this.#loaded.get(id)
    if (record !== undefined) return Result.succeed(record)
    return Result.fail(new NotFound({ message: `${this.#noun} ${quote(id)} does not exist.` }))
  }

  put(record: Record): void {
    this.changed.set(record.id, record)
  }

  changes(): ReadonlyArray<{ readonly before: Record | undefined; readonly after: Record }> {
    return Array.from(this.changed.values(), (after) => ({
      before: this.#loaded.get(after.id),
      after
    }))
  }
}

const pair = (memoryId: string, commitmentId: string) => `${memoryId} ${commitmentId}`
const holder = (tokenId: string, key: string) => `${tokenId} ${key}`

export class BatchDraft {
  readonly commitments: RecordSet<CommitmentRecord>
  readonly memories: RecordSet<MemoryRecord>
  readonly entries: Array<LedgerEntry> = []
  readonly newLinks: Array<Link> = []
  readonly newAnswers: Array<KeptAnswer> = []
  readonly moves: Array<CallbackMove> = []
  readonly changedEndpoints = new Map<string, WebhookEndpoint>()
  readonly #linked: Set<string>
  readonly #endpoints: Map<string, WebhookEndpoint>
  readonly #answers: Map<string, KeptAnswer>

  constructor(loaded: Loaded) {
    this.commitments = new RecordSet("Commitment", loaded.commitments)
    this.memories = new RecordSet("Memory", loaded.memories)
    this.#linked = new Set(loaded.links.map((link) => pair(link.memoryId, link.commitmentId)))
    this.#endpoints = new Map(loaded.endpoints.map((endpoint) => [endpoint.url, endpoint]))
    this.#answers = new Map(
      loaded.keptAnswers.map((answer) => [holder(answer.tokenId, answer.key), answer])
    )
  }

  /** «The same link again: one association» (D6). */
  addLink(link: Link): void {
    const name = pair(link.memoryId, link.commitmentId)
    if (this.#linked.has(name)) return
    this.#linked.add(name)
    this.newLinks.push(link)
  }

  endpointAt(url: string): WebhookEndpoint | undefined {
    return this.#endpoints.get(url)
  }

  putEndpoint(endpoint: WebhookEndpoint): void {
    this.#endpoints.set(endpoint.url, endpoint)
    this.changedEndpoints.set(endpoint.id, endpoint)
  }

  keptAnswer(tokenId: string, key: string): KeptAnswer | undefined {
    return this.#answers.get(holder(tokenId, key))
  }

  keepAnswer(answer: KeptAnswer): void {
    this.#answers.set(holder(answer.tokenId, answer.key), answer)
    this.newAnswers.push(answer)
  }
}
