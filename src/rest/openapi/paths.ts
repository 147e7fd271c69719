// The paths of the document: what the router knows (path, method, operationId, parameters), with
// texts, both headers, the answer and every error that the front can send.
import { LIMITS } from "../../domain/limits.ts"
import { ANSWER_EXAMPLES } from "./answerExamples.ts"
import {
  type DocumentedOperation,
  type PathItem,
  type Response,
  schemaRef
} from "./documentTypes.ts"
import { errorResponses } from "./errorResponses.ts"
import { operationExamples } from "./operationExamples.ts"
import { documentedParameter, parameterRef } from "./parameters.ts"
import { PATH_TEXTS, type PathText } from "./pathTexts.ts"

export const documentedPaths = (
  generated: Readonly<Record<string, PathItem>>
): Record<string, PathItem> =>
  Object.fromEntries(
    Object.entries(generated).map(([path, { get, post }]) => [
      path,
      {
        ...(get === undefined ? {} : { get: documentedOperation(path, get) }),
        ...(post === undefined ? {} : { post: documentedWrite(path, post) })
      }
    ])
  )

/** Without a text, an operation stays as generated, and the linters say so. */
const documentedOperation = (path: string, generated: DocumentedOperation): DocumentedOperation => {
  const text = PATH_TEXTS[generated.operationId ?? ""]
  if (text === undefined) return generated
  const { summary, description, tag } = text
  const parameters = (generated.parameters ?? []).map(documentedParameter(path))
  return {
    operationId: generated.operationId ?? "",
    tags: [tag],
    summary,
    description,
    parameters: [parameterRef("WorkspaceId"), ...parameters],
    responses: { 200: answer(text), ...errorResponses(text.errors) }
  }
}

const documentedWrite = (path: string, generated: DocumentedOperation): DocumentedOperation => {
  const { parameters, responses, ...operation } = documentedOperation(path, generated)
  return {
    ...operation,
    security: [{ ProxyToken: [] }, { BearerToken: [] }],
    parameters: [...(parameters ?? []), parameterRef("IdempotencyKey")],
    requestBody: {
      required: true,
      description: BODY_DESCRIPTION,
      content: {
        "application/json": { schema: schemaRef("Operation"), examples: operationExamples() }
      }
    },
    responses: { ...responses, 200: { ...responses?.[200], links: LINKS } }
  }
}

const BODY_DESCRIPTION = `One operation, as JSON in UTF-8: at most 1 MiB unless the service is configured otherwise, nested at most ${LIMITS.jsonDepth} deep, without NUL characters and lone surrogates.`

const answer = ({ answer, answerDescription, isList }: PathText): Response => ({
  description: answerDescription,
  headers: {
    "Ledger-Version": { $ref: "#/components/headers/LedgerVersion" },
    ...(isList ? { "Ledger-Time": { $ref: "#/components/headers/LedgerTime" } } : {})
  },
  content: {
    "application/json": { schema: schemaRef(answer), examples: ANSWER_EXAMPLES[answer] }
  }
})

const linkTo = (operationId: string, description: string) => ({
  operationId,
  description,
  parameters: { id: "$response.body#/record_id" }
})

const LINKS = {
  commitment: linkTo("getCommitment", "The commitment, when record_id is a commitment's."),
  memory: linkTo("getMemory", "The memory, when record_id is a memory's.")
}
