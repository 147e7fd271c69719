// What each path is for, and what it can answer, by the operationId that the router gives it.
import type { ANSWER_EXAMPLES } from "./answerExamples.ts"
import type { ErrorName } from "./errorResponses.ts"

export interface PathText {
  readonly tag: "Ledger" | "Commitments" | "Memories"
  readonly summary: string
  readonly description: string
  /** The component schema of the 200 answer, and its examples. */
  readonly answer: keyof typeof ANSWER_EXAMPLES
  readonly answerDescription: string
  /** The header `Ledger-Time` comes with lists. */
  readonly isList: boolean
  readonly errors: ReadonlyArray<ErrorName>
}

const PAGES =
  "Newest first. The last page is reached when offset + limit >= pagination.total. To poll, pass the Ledger-Time header of a first page as the next since: nothing is missed and nothing comes twice."

export const PATH_TEXTS: Readonly<Record<string, PathText>> = {
  performOperation: {
    tag: "Ledger",
    summary: "Perform one operation",
    description:
      "The only write path. The field `op` selects the operation; it is written to the ledger and performed in one transaction. An error means that nothing was performed. `webhook.register` may be sent with a bearer token, and then names the workspace in `workspaceId` or in the header X-Workspace-Id; every other operation needs the two headers.",
    answer: "OperationReceipt",
    answerDescription: "The operation is performed, and its ledger entry will outlast a crash.",
    isList: false,
    errors: [
      "InvalidOperation",
      "Unauthorized",
      "Forbidden",
      "RecordNotFound",
      "OnlyPost",
      "BrokenRule",
      "ServerError"
    ]
  },
  getStatus: {
    tag: "Ledger",
    summary: "Count what is in the workspace",
    description: "Aggregate counts of commitments, memories and ledger entries, in one snapshot.",
    answer: "StatusAnswer",
    answerDescription: "The counts.",
    isList: false,
    errors: ["InvalidRequest", "Unauthorized", "Forbidden", "OnlyGet", "ServerError"]
  },
  listCommitments: {
    tag: "Commitments",
    summary: "List commitments",
    description: `Commitments that match every given parameter. ${PAGES}`,
    answer: "CommitmentPage",
    answerDescription: "A page of commitments.",
    isList: true,
    errors: ["InvalidQuery", "Unauthorized", "Forbidden", "OnlyGet", "ServerError"]
  },
  getCommitment: {
    tag: "Commitments",
    summary: "Read one commitment",
    description: "A commitment with its result, evidence, history and linked memories.",
    answer: "CommitmentAnswer",
    answerDescription: "The commitment.",
    isList: false,
    errors: [
      "InvalidRequest",
      "Unauthorized",
      "Forbidden",
      "CommitmentNotFound",
      "OnlyGet",
      "ServerError"
    ]
  },
  listMemories: {
    tag: "Memories",
    summary: "List memories",
    description: `Memories that match every given parameter; dismissed ones only when \`status\` asks for them. ${PAGES}`,
    answer: "MemoryPage",
    answerDescription: "A page of memories.",
    isList: true,
    errors: ["InvalidQuery", "Unauthorized", "Forbidden", "OnlyGet", "ServerError"]
  },
  getMemory: {
    tag: "Memories",
    summary: "Read one memory",
    description: "A memory with its priority, annotations, linked commitments and history.",
    answer: "MemoryAnswer",
    answerDescription: "The memory.",
    isList: false,
    errors: [
      "InvalidRequest",
      "Unauthorized",
      "Forbidden",
      "MemoryNotFound",
      "OnlyGet",
      "ServerError"
    ]
  }
}

export const TAGS = [
  { name: "Ledger", description: "The one write path, and the counts of the workspace." },
  { name: "Commitments", description: "Work items, from creation to a result with evidence." },
  { name: "Memories", description: "Observations, from capture to a commitment or a dismissal." }
]
