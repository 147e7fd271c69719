// Every error that a path can answer: the status, the code in the spec's envelope, the headers that
// come with it, and examples in the service's own words.
import { type ErrorCode, UNEXPECTED_MESSAGE } from "../../domain/errors.ts"
import { quote } from "../../domain/limits.ts"
import { LISTED_OPERATIONS } from "../../domain/operations.ts"
import { type NamedExamples, type Response, type Schema, schemaRef } from "./documentTypes.ts"
import { EXAMPLE_IDS } from "./operationExamples.ts"

interface ErrorText {
  readonly status: number
  readonly code: ErrorCode
  readonly description: string
  /** Name of the example: the message. */
  readonly messages: Readonly<Record<string, string>>
}

const { commitment, memory } = EXAMPLE_IDS
const WRONG_PATH = "The path holds an invalid percent escape."

const ERRORS = {
  InvalidOperation: {
    status: 400,
    code: "INVALID_REQUEST",
    description:
      "The body is no operation: wrong content type, too large, malformed JSON, an unknown operation, a required field that is missing, or a value that its field does not accept.",
    messages: {
      malformedJson: "The request body is not valid JSON in UTF-8.",
      unknownOperation: `Unknown operation ${quote("delete")}. Valid operations: ${LISTED_OPERATIONS.join(", ")}.`,
      missingField: 'The operation "commit" requires the field "title".',
      wrongValue: 'The field "result" of the operation "close" must be "pass" or "fail".'
    }
  },
  InvalidRequest: {
    status: 400,
    code: "INVALID_REQUEST",
    description: "The request itself is malformed.",
    messages: { percentEscape: WRONG_PATH }
  },
  InvalidQuery: {
    status: 400,
    code: "INVALID_REQUEST",
    description: "A query parameter has a value that it does not accept, or is given twice.",
    messages: {
      noInteger: 'The query parameter "limit" must be an integer, not "ten".',
      noTime:
        'The query parameter "since" must be an ISO 8601 date or date-time with zone, not "yesterday".'
    }
  },
  Unauthorized: {
    status: 401,
    code: "UNAUTHORIZED",
    description: "The token is missing or not valid.",
    messages: {
      missing: "The header X-Proxy-Token is required.",
      invalid: "The API token is not valid."
    }
  },
  Forbidden: {
    status: 403,
    code: "FORBIDDEN",
    description: "The token is valid, but has no access to the workspace, or none is named.",
    messages: {
      otherWorkspace: "The API token has no access to the workspace named in X-Workspace-Id.",
      noWorkspace: "The header X-Workspace-Id is required and must name one workspace."
    }
  },
  RecordNotFound: {
    status: 404,
    code: "NOT_FOUND",
    description: "A commitment or memory that the operation names does not exist.",
    messages: {
      commitment: `Commitment ${quote(commitment)} does not exist.`,
      memory: `Memory ${quote(memory)} does not exist.`
    }
  },
  CommitmentNotFound: {
    status: 404,
    code: "NOT_FOUND",
    description: "There is no such commitment in the workspace.",
    messages: { commitment: `Commitment ${quote(commitment)} does not exist.` }
  },
  MemoryNotFound: {
    status: 404,
    code: "NOT_FOUND",
    description: "There is no such memory in the workspace.",
    messages: { memory: `Memory ${quote(memory)} does not exist.` }
  },
  OnlyPost: {
    status: 405,
    code: "INVALID_REQUEST",
    description: "The path does not have the method.",
    messages: { method: "The method DELETE is not allowed here. Allowed: POST." }
  },
  OnlyGet: {
    status: 405,
    code: "INVALID_REQUEST",
    description: "The path does not have the method.",
    messages: { method: "The method DELETE is not allowed here. Allowed: GET, HEAD." }
  },
  BrokenRule: {
    status: 422,
    code: "VALIDATION_ERROR",
    description:
      "The operation is well-formed but breaks a rule: the record's state does not accept it, a close has no evidence, or an Idempotency-Key was used for another operation.",
    messages: {
      state: `The operation "claim" requires the state "open", but commitment ${commitment} is in the state "claimed".`,
      evidence:
        'The operation "close" requires the field "evidence". An empty array is acceptable when there is no evidence.',
      idempotencyKey:
        "This Idempotency-Key was used for another operation. Use a new key for a new operation."
    }
  },
  ServerError: {
    status: 500,
    code: "SERVER_ERROR",
    description:
      "Nothing was performed, through no fault of the request: it may be sent again after Retry-After seconds.",
    messages: { unexpected: UNEXPECTED_MESSAGE }
  }
} as const satisfies Record<string, ErrorText>

export type ErrorName = keyof typeof ERRORS

const names = Object.keys(ERRORS) as Array<ErrorName>

const ALLOW: Partial<Record<ErrorName, string>> = { OnlyPost: "POST", OnlyGet: "GET, HEAD" }

export const errorComponents = (): Record<string, Response> =>
  Object.fromEntries(names.map((name) => [name, errorResponse(name)]))

/** The responses of an operation that may fail in the named ways. */
export const errorResponses = (used: ReadonlyArray<ErrorName>): Record<string, Response> =>
  Object.fromEntries(
    used.map((name) => [String(ERRORS[name].status), { $ref: `#/components/responses/${name}` }])
  )

const errorResponse = (name: ErrorName): Response => {
  const { code, description } = ERRORS[name]
  return {
    description,
    headers: {
      "Ledger-Version": { $ref: "#/components/headers/LedgerVersion" },
      ...headersOf(name)
    },
    content: {
      "application/json": {
        schema: {
          allOf: [schemaRef("ErrorEnvelope"), withCode(code)]
        },
        examples: errorExamples(ERRORS[name])
      }
    }
  }
}

/** Strict readers look at each part of an `allOf` alone, so this one names the message too. */
const withCode = (code: ErrorCode): Schema => ({
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["code", "message"],
      properties: { code: { type: "string", const: code }, message: { type: "string" } }
    }
  }
})

const headersOf = (name: ErrorName) => {
  const allow = ALLOW[name]
  if (allow !== undefined) {
    return {
      Allow: {
        description: "The methods that the path has.",
        required: true,
        schema: { type: "string" as const, const: allow },
        example: allow
      }
    }
  }
  if (ERRORS[name].code === "SERVER_ERROR") {
    return { "Retry-After": { $ref: "#/components/headers/RetryAfter" } }
  }
  return {}
}

const errorExamples = ({ code, messages }: ErrorText): NamedExamples =>
  Object.fromEntries(
    Object.entries(messages).map(([name, message]) => [
      name,
      {
        summary: EXAMPLE_SUMMARIES[name] ?? name,
        value: { success: false, error: { code, message } }
      }
    ])
  )

const EXAMPLE_SUMMARIES: Readonly<Record<string, string>> = {
  malformedJson: "Malformed JSON",
  unknownOperation: "Unknown operation",
  missingField: "Missing field",
  wrongValue: "Value that is not accepted",
  percentEscape: "Invalid percent escape",
  noInteger: "No integer",
  noTime: "No ISO 8601 time",
  missing: "No token",
  invalid: "Unknown token",
  otherWorkspace: "Another workspace",
  noWorkspace: "No workspace named",
  commitment: "Unknown commitment",
  memory: "Unknown memory",
  method: "Wrong method",
  state: "State that does not accept the operation",
  evidence: "Close without evidence",
  idempotencyKey: "Key of another operation",
  unexpected: "Unexpected error"
}
