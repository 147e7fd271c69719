// Pure: a batch of operations, in mailbox order, against what was loaded under the lock, gives an
// answer for each and everything that is to be written. Called by the workspace actor only.
import { Result } from "effect"
import { BatchDraft, type KeptAnswer, type Loaded } from "./batchDraft.ts"
import type { CallbackMove } from "./callback.ts"
import { countChanges } from "./counts.ts"
import { type CommitmentOperation, createCommitment, decideCommitment } from "./decideCommitment.ts"
import { commitMemory, createMemory, decideMemory, type MemoryOperation } from "./decideMemory.ts"
import { decideWebhook } from "./decideWebhook.ts"
import { InvalidRequest, type LedgerError, NotFound, ValidationError } from "./errors.ts"
import { entryHash } from "./hashChain.ts"
import { type IdPrefix, isCommitmentId, isMemoryId } from "./ids.ts"
import type { JsonObject } from "./jsonValue.ts"
import { LIMITS, quote } from "./limits.ts"
import type { OperationRequest } from "./operationRequest.ts"
import type { Operation, OperationOf } from "./operations.ts"
import type { AllowList } from "./receiverAddress.ts"
import type {
  CommitmentRecord,
  Head,
  LedgerEntry,
  Link,
  MemoryRecord,
  WebhookEndpoint
} from "./records.ts"
import { sendsCallback } from "./transitions.ts"
import type { OperationReceipt } from "./vocabulary.ts"

export type Answer = Result.Result<OperationReceipt, LedgerError>

export interface BatchOutcome {
  /** One answer for each request, in their order. */
  readonly answers: ReadonlyArray<Answer>
  readonly head: Head
  readonly entries: ReadonlyArray<LedgerEntry>
  /** Each touched record once, in its last state. */
  readonly commitments: ReadonlyArray<CommitmentRecord>
  readonly memories: ReadonlyArray<MemoryRecord>
  readonly links: ReadonlyArray<Link>
  readonly endpoints: ReadonlyArray<WebhookEndpoint>
  readonly keptAnswers: ReadonlyArray<KeptAnswer>
  /** The moves that callbacks announce, in ledger order. */
  readonly moves: ReadonlyArray<CallbackMove>
}

export interface Decider {
  readonly nextId: (prefix: IdPrefix, now: number) => string
  /** Milliseconds since the epoch, by the service's clock. */
  readonly now: number
  /** What the private-network guard lets through. */
  readonly allow: AllowList
}

/** Decides every request in order; an operation that is refused changes nothing. */
export const decideBatch = (
  loaded: Loaded,
  requests: ReadonlyArray<OperationRequest>,
  decider: Decider
): BatchOutcome => {
  const batch = new Batch(loaded, decider)
  const answers = requests.map((request) => batch.answer(request))
  return batch.outcome(answers)
}

class Batch {
  readonly #draft: BatchDraft
  readonly #start: Head
  readonly #decider: Decider
  #lastHash: Uint8Array
  #time: number

  constructor(loaded: Loaded, decider: Decider) {
    this.#draft = new BatchDraft(loaded)
    this.#start = loaded.head
    this.#decider = decider
    this.#lastHash = loaded.head.lastHash
    // «A batch's time exceeds every time before it in the workspace.»
    this.#time = Math.max(decider.now, loaded.head.lastTime + 1)
  }

  answer(request: OperationRequest): Answer {
    const { idempotency, tokenId } = request
    if (idempotency === undefined) return this.#perform(request)
    const { fingerprint, key } = idempotency
    const kept = this.#draft.keptAnswer(tokenId, key)
    if (kept !== undefined) return repeatAnswer(kept, fingerprint)
    return Result.map(this.#perform(request), (receipt) => {
      this.#draft.keepAnswer({ tokenId, key, fingerprint, receipt })
      return receipt
    })
  }

  outcome(answers: ReadonlyArray<Answer>): BatchOutcome {
    const draft = this.#draft
    const last = draft.entries.at(-1)
    const counts = countChanges(
      this.#start.counts,
      draft.commitments.changes(),
      draft.memories.changes()
    )
    return {
      answers,
      head:
        last === undefined
          ? this.#start
          : { ...this.#start, lastSeq: last.seq, lastHash: last.hash, lastTime: last.time, counts },
      entries: draft.entries,
      commitments: Array.from(draft.commitments.changed.values()),
      memories: Array.from(draft.memories.changed.values()),
      links: draft.newLinks,
      endpoints: Array.from(draft.changedEndpoints.values()),
      keptAnswers: draft.newAnswers,
      moves: draft.moves
    }
  }

  #perform(request: OperationRequest): Answer {
    return Result.map(this.#decide(request.operation), (recordId) =>
      this.#record(request, recordId)
    )
  }

  /** Applies one operation to the draft and gives the id of the record it is about. */
  #decide(operation: Operation): Result.Result<string, LedgerError> {
    switch (operation.op) {
      case "capture":
        return this.#capture(operation)
      case "commit":
        return this.#commit(operation)
      case "link":
        return this.#link(operation)
      case "dismiss":
      case "triage":
        return this.#changeMemory(operation)
      case "annotate":
        return this.#annotate(operation)
      case "webhook.register":
        return this.#registerWebhook(operation)
      default:
        return this.#changeCommitment(operation)
    }
  }

  #capture(operation: OperationOf<"capture">) {
    const now = this.#time
    const id = this.#decider.nextId("mem", now)
    this.#draft.memories.put(createMemory(operation, { id, seq: this.#nextSeq(), now }))
    return Result.succeed(id)
  }

  #commit(operation: OperationOf<"commit">): Result.Result<string, NotFound> {
    const { source } = operation
    const found = source === undefined ? undefined : this.#draft.memories.require(source)
    if (found !== undefined && Result.isFailure(found)) return Result.fail(found.failure)
    const memory = found?.success
    const now = this.#timeAfter(memory)
    const id = this.#decider.nextId("cmt", now)
    const seq = this.#nextSeq()
    this.#draft.commitments.put(createCommitment(operation, { id, seq, now }))
    if (memory !== undefined) {
      this.#draft.memories.put(commitMemory(memory, now))
      this.#draft.addLink({ memoryId: memory.id, commitmentId: id, seq })
    }
    return Result.succeed(id)
  }

  #link(operation: OperationOf<"link">): Result.Result<string, LedgerError> {
    const found = withRoomForMeta(this.#draft.memories.require(operation.id), operation)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    const target = this.#draft.commitments.require(operation.target)
    if (Result.isFailure(target)) return Result.fail(target.failure)
    const memory = decideMemory(operation, found.success, this.#timeAfter(found.success))
    const commitment = target.success
    this.#draft.memories.put(memory)
    this.#draft.addLink({
      memoryId: memory.id,
      commitmentId: commitment.id,
      seq: this.#nextSeq()
    })
    if (commitment.memoryId === null) {
      this.#draft.commitments.put({ ...commitment, memoryId: memory.id })
    }
    return Result.succeed(memory.id)
  }

  #annotate(operation: OperationOf<"annotate">): Result.Result<string, LedgerError> {
    if (isMemoryId(operation.id)) return this.#changeMemory(operation)
    if (isCommitmentId(operation.id)) return this.#changeCommitment(operation)
    const message = `There is no commitment or memory ${quote(operation.id)}.`
    return Result.fail(new NotFound({ message }))
  }

  #changeMemory(operation: MemoryOperation): Result.Result<string, LedgerError> {
    const found = withRoomForMeta(this.#draft.memories.require(operation.id), operation)
    return Result.map(found, (memory) => {
      this.#draft.memories.put(decideMemory(operation, memory, this.#timeAfter(memory)))
      return memory.id
    })
  }

  #changeCommitment(operation: CommitmentOperation): Result.Result<string, LedgerError> {
    const found = withRoomForMeta(this.#draft.commitments.require(operation.id), operation)
    if (Result.isFailure(found)) return Result.fail(found.failure)
    const now = Math.max(this.#time, found.success.updatedAt + 1)
    const { state: previousState } = found.success
    return Result.map(decideCommitment(operation, found.success, now), (commitment) => {
      this.#time = now
      this.#draft.commitments.put(commitment)
      if (sendsCallback(previousState, commitment.state)) {
        this.#draft.moves.push({ previousState, commitment, seq: this.#nextSeq(), time: now })
      }
      return commitment.id
    })
  }

  #registerWebhook(operation: OperationOf<"webhook.register">) {
    const known = this.#draft.endpointAt(operation.url)
    const id = known?.id ?? this.#decider.nextId("whk", this.#time)
    const { allow } = this.#decider
    return Result.map(
      decideWebhook(operation, { known, id, now: this.#time, allow }),
      (endpoint) => {
        this.#draft.putEndpoint(endpoint)
        return endpoint.id
      }
    )
  }

  /** Moves the batch's time past the record's last one, so that times of a record never repeat. */
  #timeAfter(record: { readonly updatedAt: number } | undefined): number {
    if (record !== undefined) this.#time = Math.max(this.#time, record.updatedAt + 1)
    return this.#time
  }

  #nextSeq(): number {
    return this.#start.lastSeq + this.#draft.entries.length + 1
  }

  #record(request: OperationRequest, recordId: string): OperationReceipt {
    const { actor, operation, payload } = request
    const unhashed = {
      seq: this.#nextSeq(),
      opId: this.#decider.nextId("op", this.#time),
      op: operation.op,
      actor,
      recordId,
      time: this.#time,
      payload,
      previousHash: this.#lastHash
    }
    const entry = { ...unhashed, hash: entryHash(this.#start.workspaceId, unhashed) }
    this.#lastHash = entry.hash
    this.#draft.entries.push(entry)
    return { success: true, op_id: entry.opId, record_id: recordId }
  }
}

/** `meta` is merged into the record's (D16), so that without a bound it could grow for ever. */
const withRoomForMeta = <Named extends { readonly meta: JsonObject }>(
  found: Result.Result<Named, NotFound>,
  { meta }: Operation
): Result.Result<Named, NotFound | InvalidRequest> => {
  if (Result.isFailure(found) || meta === undefined) return found
  const merged = JSON.stringify({ ...found.success.meta, ...meta })
  if (merged.length <= LIMITS.mergedMetaCharacters) return found
  const message = `With this operation the record's "meta" would have more than ${LIMITS.mergedMetaCharacters} characters as JSON.`
  return Result.fail(new InvalidRequest({ message }))
}

/** «Same key and same canonical operation: the first answer again; another operation: 422» (D22). */
const repeatAnswer = (kept: KeptAnswer, fingerprint: string): Answer =>
  kept.fingerprint === fingerprint
    ? Result.succeed(kept.receipt)
    : Result.fail(
        new ValidationError({
          message:
            "This Idempotency-Key was used for another operation. Use a new key for a new operation."
        })
      )
