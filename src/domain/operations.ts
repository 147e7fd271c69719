// The twelve operations of the spec and `webhook.register`: one shape each, in the spec's order.
// `parseOperation` is the only way from what a caller sent to an Operation.
import { Result } from "effect"
import { z } from "zod"
import { InvalidRequest, ValidationError } from "./errors.ts"
import {
  evidence,
  metadata,
  optional,
  shortText,
  spokenShortText,
  spokenText,
  tags,
  text
} from "./fields.ts"
import { isJsonObject, type JsonObject, jsonProblem } from "./jsonValue.ts"
import { quote } from "./limits.ts"
import { webhookFields } from "./webhookFields.ts"

const shape = <const Name extends string, Fields extends z.ZodRawShape>(op: Name, fields: Fields) =>
  z.object({ op: z.literal(op), ...fields, meta: optional(metadata) })

/** What an operation may carry, beside `op` and the optional `meta` that every operation accepts. */
export const OPERATION_SHAPES = {
  capture: shape("capture", {
    body: spokenText,
    kind: optional(shortText),
    tags: optional(tags)
  }),
  commit: shape("commit", {
    title: spokenText,
    body: optional(text),
    tags: optional(tags),
    priority: optional(shortText),
    source: optional(spokenShortText)
  }),
  claim: shape("claim", { id: spokenShortText, owner: spokenShortText }),
  release: shape("release", { id: spokenShortText, reason: optional(text) }),
  close: shape("close", {
    id: spokenShortText,
    result: z.enum(["pass", "fail"], { error: 'must be "pass" or "fail"' }),
    evidence,
    summary: optional(text)
  }),
  annotate: shape("annotate", {
    id: spokenShortText,
    body: spokenText,
    kind: optional(shortText)
  }),
  submit: shape("submit", {
    id: spokenShortText,
    body: optional(text),
    evidence: optional(evidence)
  }),
  approve: shape("approve", { id: spokenShortText, body: optional(text) }),
  reopen: shape("reopen", { id: spokenShortText, reason: optional(text) }),
  link: shape("link", { id: spokenShortText, target: spokenShortText }),
  dismiss: shape("dismiss", { id: spokenShortText, reason: optional(text) }),
  triage: shape("triage", {
    id: spokenShortText,
    priority: optional(shortText),
    kind: optional(shortText),
    body: optional(text)
  }),
  "webhook.register": shape("webhook.register", webhookFields)
} as const

export type OperationName = keyof typeof OPERATION_SHAPES
/** What a caller may write: an optional field may also be null. */
export type OperationInput = z.input<(typeof OPERATION_SHAPES)[OperationName]>
/** What the domain reads: a field that was not given is undefined. */
export type Operation = z.output<(typeof OPERATION_SHAPES)[OperationName]>
export type OperationOf<Name extends OperationName> = Extract<Operation, { op: Name }>

/** The names that the unknown-operation message lists; `webhook.register` is absent by the spec. */
export const LISTED_OPERATIONS = (Object.keys(OPERATION_SHAPES) as Array<OperationName>).filter(
  (name) => name !== "webhook.register"
)

const isOperationName = (name: string): name is OperationName =>
  Object.hasOwn(OPERATION_SHAPES, name)

/**
 * A request body as an Operation. The errors, in order of precedence: not an object, text or
 * numbers that cannot be kept, unknown `op`, a field missing or ill-typed (all `INVALID_REQUEST`),
 * `close` without `evidence` (`VALIDATION_ERROR`). Unknown top-level fields are ignored.
 */
export const parseOperation = (
  body: unknown
): Result.Result<Operation, InvalidRequest | ValidationError> => {
  if (!isJsonObject(body)) return invalid("The request body must be a JSON object.")
  const problem = jsonProblem(body)
  if (problem !== undefined) return invalid(problem)
  const { op } = body
  if (typeof op !== "string") {
    return invalid(`The field "op" is required and must be a string. ${VALID_OPERATIONS}`)
  }
  if (!isOperationName(op)) return invalid(`Unknown operation ${quote(op)}. ${VALID_OPERATIONS}`)
  return parseFields(op, body)
}

const VALID_OPERATIONS = `Valid operations: ${LISTED_OPERATIONS.join(", ")}.`

const invalid = (message: string) => Result.fail(new InvalidRequest({ message }))

const parseFields = (
  op: OperationName,
  body: JsonObject
): Result.Result<Operation, InvalidRequest | ValidationError> => {
  const parsed = OPERATION_SHAPES[op].safeParse(body)
  if (parsed.success) return Result.succeed(asGiven(parsed.data, body))
  const issues = parsed.error.issues
  const lacksOnlyEvidence =
    op === "close" && issues.every((issue) => isEvidence(issue)) && isAbsent(body.evidence)
  if (lacksOnlyEvidence) return Result.fail(new ValidationError({ message: EVIDENCE_REQUIRED }))
  const issue = issues.find((issue) => !(isEvidence(issue) && isAbsent(body.evidence)))
  return invalid(describeIssue(op, body, issue ?? issues[0]))
}

const EVIDENCE_REQUIRED =
  'The operation "close" requires the field "evidence". An empty array is acceptable when there is no evidence.'

const isAbsent = (value: unknown) => value === undefined || value === null

const isEvidence = (issue: z.core.$ZodIssue) =>
  issue.path.length === 1 && issue.path[0] === "evidence"

/** Zod drops own `__proto__` keys from what it copies, so free-form objects are taken as given. */
const asGiven = (operation: Operation, body: JsonObject): Operation => {
  const given: Record<string, unknown> = { ...operation }
  if (isJsonObject(body.meta)) given.meta = body.meta
  // Only where the operation has evidence: elsewhere the field is unknown, unchecked, and ignored.
  if ("evidence" in operation && operation.evidence !== undefined) {
    given.evidence = (body.evidence as ReadonlyArray<JsonObject>).map(withoutNulls)
  }
  return given as Operation
}

const OPTIONAL_EVIDENCE_FIELDS = ["url", "body", "label", "payload"] as const

const withoutNulls = (item: JsonObject): JsonObject => {
  if (OPTIONAL_EVIDENCE_FIELDS.every((field) => item[field] !== null)) return item
  const kept = { ...item }
  for (const field of OPTIONAL_EVIDENCE_FIELDS) if (kept[field] === null) delete kept[field]
  return kept
}

/** «The message names the field and the operation.» */
const describeIssue = (
  op: OperationName,
  body: JsonObject,
  issue: z.core.$ZodIssue | undefined
): string => {
  const path = issue?.path ?? []
  const field = quote(path.map((part, index) => pathPart(part, index)).join(""))
  if (isAbsent(valueAt(body, path))) {
    return `The operation "${op}" requires the field ${field}.`
  }
  return `The field ${field} of the operation "${op}" ${issue?.message ?? "is not valid"}.`
}

const pathPart = (part: PropertyKey, index: number) => {
  if (typeof part === "number") return `[${part}]`
  return index === 0 ? String(part) : `.${String(part)}`
}

const valueAt = (body: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null ? Reflect.get(value, part) : undefined,
    body
  )
