// The component schemas of the document: the spec's nouns, the answers that carry them, the error
// envelope, the operations and the callback, each from the shape that the service itself uses.
import { z } from "zod"
import { evidence } from "../../domain/fields.ts"
import { OPERATION_SHAPES } from "../../domain/operations.ts"
import {
  Annotation,
  Commitment,
  CommitmentHistoryEntry,
  CommitmentListItem,
  Evidence,
  Memory,
  MemoryHistoryEntry,
  MemoryListItem,
  OperationReceipt,
  Pagination,
  StatusSnapshot
} from "../../domain/vocabulary.ts"
import { HTTP_STATUS } from "../../rpc/errors.ts"
import { CallbackEvidence, CallbackPayload } from "./callbackPayload.ts"
import type { Schema } from "./documentTypes.ts"
import { componentSchemas } from "./jsonSchema.ts"
import { operationSchemas, operationUnion } from "./operationSchemas.ts"

const success = z.literal(true)

const answerOf = <Data extends z.ZodType>(data: Data, description: string) =>
  z.object({ success, data }).meta({ description })

const pageOf = <Item extends z.ZodType>(item: Item, description: string) =>
  z.object({ success, data: z.array(item), pagination: Pagination }).meta({ description })

const ErrorEnvelope = z
  .object({
    success: z.literal(false),
    error: z.object({
      code: z
        .enum(Object.keys(HTTP_STATUS) as [string, ...Array<string>])
        .meta({ description: "Machine-readable; one per kind of error." }),
      message: z.string().meta({ description: "For people. Programs must not parse it." })
    })
  })
  .meta({ description: "The body of every error." })

const ANSWERS = {
  OperationReceipt,
  StatusSnapshot,
  StatusAnswer: answerOf(StatusSnapshot, "The workspace's counts."),
  Commitment,
  CommitmentListItem,
  CommitmentHistoryEntry,
  CommitmentAnswer: answerOf(Commitment, "One commitment."),
  CommitmentPage: pageOf(CommitmentListItem, "A page of commitments, newest first."),
  Evidence,
  Memory,
  MemoryListItem,
  MemoryHistoryEntry,
  Annotation,
  MemoryAnswer: answerOf(Memory, "One memory."),
  MemoryPage: pageOf(MemoryListItem, "A page of memories, newest first."),
  Pagination,
  ErrorEnvelope,
  CallbackPayload,
  CallbackEvidence
}

/** Every component schema, in a fixed order. */
export const documentSchemas = (): Record<string, Schema> => ({
  Operation: operationUnion(),
  ...operationSchemas(OPERATION_SHAPES, evidence.element),
  ...componentSchemas(ANSWERS, "output")
})
