// The parameters and headers of the document. The query parameters come from the shapes that the
// lists parse; what those shapes check in code is said here.
import { LIMITS } from "../../domain/limits.ts"
import { API_VERSION } from "../../version.ts"
import { ROUTES, type Route } from "../routes.ts"
import { LEDGER_TIME_EXAMPLE } from "./answerExamples.ts"
import type { Header, Parameter, Schema } from "./documentTypes.ts"
import { propertySchemas } from "./jsonSchema.ts"
import { EXAMPLE_IDS } from "./operationExamples.ts"

export const PARAMETER_COMPONENTS: Readonly<Record<string, Parameter>> = {
  WorkspaceId: {
    name: "X-Workspace-Id",
    in: "header",
    required: true,
    description: "The workspace, which must be the token's own.",
    schema: { type: "string", format: "uuid" },
    example: EXAMPLE_IDS.workspace
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "Makes a retry safe: within 24 hours, the same key with the same operation gives the first answer again, and with another operation 422. Keys belong to a token; only successes are kept.",
    schema: {
      type: "string",
      minLength: 1,
      maxLength: LIMITS.idempotencyKeyCharacters,
      pattern: "^[\\x20-\\x7e]+$"
    },
    example: "5f0c2a52-claim-1"
  }
}

export const parameterRef = (name: "WorkspaceId" | "IdempotencyKey"): Parameter => ({
  $ref: `#/components/parameters/${name}`
})

export const HEADER_COMPONENTS: Readonly<Record<string, Header>> = {
  LedgerVersion: {
    description: "The version of the API, which is also this document's.",
    required: true,
    schema: { type: "string" },
    example: API_VERSION
  },
  LedgerTime: {
    description: "The ledger's time in the snapshot that the list shows: a poller's next since.",
    required: true,
    schema: { type: "string", format: "date-time" },
    example: LEDGER_TIME_EXAMPLE
  },
  RetryAfter: {
    description: "Seconds after which the request may be sent again.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1
  }
}

/** Adds what the generator leaves out: descriptions, examples, defaults. */
export const documentedParameter =
  (path: string) =>
  (parameter: Parameter): Parameter => {
    if ("$ref" in parameter) return parameter
    if (parameter.in === "path") return { ...parameter, ...pathId(path) }
    const route = Object.values<Route>(ROUTES).find((route) => route.path === path)
    if (route?.query === undefined) return parameter
    const { description, examples, ...schema } = propertySchemas(route.query)[parameter.name] ?? {}
    const [example] = Array.isArray(examples) ? examples : []
    return {
      name: parameter.name,
      in: "query",
      required: false,
      ...(typeof description === "string" ? { description } : {}),
      schema: { ...schema, ...QUERY_RULES[parameter.name] } as Schema,
      ...(example === undefined ? {} : { example })
    }
  }

const pathId = (path: string) => {
  const isCommitment = path.startsWith("/commitments")
  return {
    description: `The id of the ${isCommitment ? "commitment" : "memory"}.`,
    example: isCommitment ? EXAMPLE_IDS.commitment : EXAMPLE_IDS.memory
  }
}

const QUERY_RULES: Readonly<Record<string, Schema>> = {
  limit: { default: LIMITS.pageSizeDefault },
  offset: { default: 0 },
  owner: { maxLength: LIMITS.shortTextCharacters },
  kind: { maxLength: LIMITS.shortTextCharacters },
  since: { anyOf: [{ format: "date-time" }, { format: "date" }] }
}
