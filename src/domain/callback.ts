// Pure: a callback move as the exact bytes that every receiver gets, on the first attempt and on each
// repeat. Built once, in the transaction of the move.
import { isJsonObject, type JsonObject } from "./jsonValue.ts"
import type { CommitmentRecord } from "./records.ts"
import { toIso, toIsoOrNull } from "./time.ts"
import type { CommitmentState } from "./vocabulary.ts"
import { EVENT_TYPES } from "./webhookFields.ts"

/** A move that is announced: see `sendsCallback`. */
export interface CallbackMove {
  readonly previousState: CommitmentState
  /** The commitment after the move. */
  readonly commitment: CommitmentRecord
  /** Sequence and time of the entry that made the move. */
  readonly seq: number
  readonly time: number
}

/** One item of evidence, with the time of the operation that brought it. */
export interface CapturedEvidence {
  readonly item: JsonObject
  readonly capturedAt: number
}

const TIERS: ReadonlyArray<unknown> = ["T1", "T2", "T3"]

/** The payload of the spec, as text. «Evidence present at the time of a transition is included.» */
export const callbackPayload = (
  workspace: { readonly id: string; readonly name: string },
  move: CallbackMove,
  evidence: ReadonlyArray<CapturedEvidence>
): string => {
  const { commitment, previousState } = move
  return JSON.stringify({
    event: EVENT_TYPES[0],
    timestamp: toIso(move.time),
    workspace: { id: workspace.id, name: workspace.name },
    commitment: {
      id: commitment.id,
      memoryId: commitment.memoryId ?? "",
      title: commitment.title,
      previousState,
      currentState: commitment.state,
      result: commitment.result,
      tier: TIERS.includes(commitment.meta.tier) ? commitment.meta.tier : null,
      evidence: evidence.map(evidenceItem),
      createdAt: toIso(commitment.createdAt),
      closedAt: toIsoOrNull(commitment.closedAt)
    }
  })
}

/** `type`, `label`, `payload` (the given one, else the present ones of `url` and `body`) (D17). */
const evidenceItem = ({ capturedAt, item }: CapturedEvidence) => ({
  type: item.type,
  ...(typeof item.label === "string" ? { label: item.label } : {}),
  payload: isJsonObject(item.payload) ? item.payload : givenPayload(item),
  capturedAt: toIso(capturedAt)
})

const givenPayload = ({ body, url }: JsonObject) => ({
  ...(url === undefined ? {} : { url }),
  ...(body === undefined ? {} : { body })
})
