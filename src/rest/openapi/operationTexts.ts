// What each operation and each of its fields is for, in the words of the document. A field without a
// description does not compile.
import type { OperationInput, OperationName } from "../../domain/operations.ts"

type FieldOf<Name extends OperationName> = Exclude<
  keyof Extract<OperationInput, { op: Name }>,
  "op" | "meta"
>

type OperationTexts = {
  readonly [Name in OperationName]: {
    readonly description: string
    readonly fields: { readonly [Field in FieldOf<Name>]: string }
  }
}

const COMMITMENT_ID = "The commitment."
const MEMORY_ID = "The memory."
const REASON = "Why; kept in the ledger."

export const OPERATION_TEXTS: OperationTexts = {
  capture: {
    description: "Records an observation as a new memory, which is then untriaged.",
    fields: {
      body: "What was observed.",
      kind: "Such as bug-report, observation, metric or note.",
      tags: "Tags without commas; surrounding white space and duplicates are removed."
    }
  },
  commit: {
    description: "Creates a work item: a new commitment, which is then open.",
    fields: {
      title: "A short title.",
      body: "The detailed description.",
      tags: "Tags without commas; surrounding white space and duplicates are removed.",
      priority: "Such as critical, high, medium or low.",
      source: "The memory that the commitment comes from; it becomes committed and is linked."
    }
  },
  claim: {
    description: "Takes an open commitment for an owner: open to claimed.",
    fields: { id: COMMITMENT_ID, owner: "Who takes it, such as agent:claude or human:jane." }
  },
  release: {
    description: "Gives a claimed commitment back: claimed to open, without an owner.",
    fields: { id: COMMITMENT_ID, reason: REASON }
  },
  close: {
    description:
      "Closes a commitment that is open, claimed or in review, with a result. Without evidence the answer is 422; an empty array is accepted. A commitment that an approve closed accepts one close, which records its result.",
    fields: {
      id: COMMITMENT_ID,
      result: "How the work ended.",
      evidence: "What proves it. May be empty, but must be there.",
      summary: "The result in words."
    }
  },
  annotate: {
    description: "Puts a note on a commitment or a memory. Never changes its state.",
    fields: {
      id: "The commitment or memory.",
      body: "The note.",
      kind: "Such as progress, blocker or question."
    }
  },
  submit: {
    description: "Hands claimed work in for review: claimed to in_review.",
    fields: {
      id: COMMITMENT_ID,
      body: "Notes for the reviewer.",
      evidence: "What proves the work."
    }
  },
  approve: {
    description: "Accepts work in review: in_review to closed, with the result pass.",
    fields: { id: COMMITMENT_ID, body: "The reviewer's words." }
  },
  reopen: {
    description: "Takes a closed commitment up again: closed to open, without owner and result.",
    fields: { id: COMMITMENT_ID, reason: REASON }
  },
  link: {
    description:
      "Associates a memory with a commitment; the memory becomes linked. The same link again is accepted and changes nothing but the ledger.",
    fields: { id: MEMORY_ID, target: "The commitment that it is linked to." }
  },
  dismiss: {
    description:
      "Says that a memory needs no action; the memory becomes dismissed and leaves the default list.",
    fields: { id: MEMORY_ID, reason: REASON }
  },
  triage: {
    description:
      "Records what was thought of a memory. An untriaged, triaged or dismissed memory becomes triaged; a linked or committed one keeps its status.",
    fields: {
      id: MEMORY_ID,
      priority: "Such as critical, high, medium or low.",
      kind: "Such as bug-report, observation, metric or note.",
      body: "Notes; they also appear among the memory's annotations."
    }
  },
  "webhook.register": {
    description:
      "Registers a URL that is called when commitments change their state. The same URL again updates the registration. May be sent with a bearer token instead of the two headers.",
    fields: {
      url: "Where callbacks are posted to.",
      secret: "The key that callbacks are signed with. It is never shown again.",
      events: "The event types to send. Default: all.",
      states: "Only moves into these states. Default: all.",
      workspaceId:
        "The token's workspace. Required when the header X-Workspace-Id is not sent; any other is 403."
    }
  }
}
