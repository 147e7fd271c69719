// The body of `POST /ops` in the document: a union of the operations, told apart by `op`, made from
// the shapes that parse them and the texts that describe their fields.
import type { z } from "zod"
import { LIMITS } from "../../domain/limits.ts"
import type { OPERATION_SHAPES, OperationName } from "../../domain/operations.ts"
import { type Schema, schemaRef } from "./documentTypes.ts"
import { componentSchemas } from "./jsonSchema.ts"
import { OPERATION_TEXTS } from "./operationTexts.ts"

const OPERATION_NAMES = Object.keys(OPERATION_TEXTS) as Array<OperationName>

/** `webhook.register` is described by `WebhookRegisterOperation`. */
const componentName = (op: OperationName): string => {
  const words = op.split(".").map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return `${words.join("")}Operation`
}

export const operationUnion = (): Schema => ({
  description:
    "One operation; `op` selects it. Fields that the operation does not have are ignored, and an optional field that is null counts as absent.",
  oneOf: OPERATION_NAMES.map((op) => schemaRef(componentName(op))),
  discriminator: {
    propertyName: "op",
    mapping: Object.fromEntries(
      OPERATION_NAMES.map((op) => [op, schemaRef(componentName(op)).$ref])
    )
  }
})

export const operationSchemas = (
  shapes: typeof OPERATION_SHAPES,
  evidenceItem: z.ZodType
): Record<string, Schema> => {
  const named = OPERATION_NAMES.map((op) => [componentName(op), shapes[op]] as const)
  const schemas = componentSchemas(
    { ...Object.fromEntries(named), EvidenceInput: evidenceItem },
    "input"
  )
  for (const op of OPERATION_NAMES) {
    const name = componentName(op)
    schemas[name] = described(op, schemas[name] ?? {})
  }
  schemas.EvidenceInput = { ...schemas.EvidenceInput, description: EVIDENCE_DESCRIPTION }
  return schemas
}

const EVIDENCE_DESCRIPTION =
  "What proves that work is done. Fields beside the listed ones are kept and shown as they were given."

const META_DESCRIPTION =
  "Arbitrary metadata: kept with the ledger entry, and merged into the metadata of the record (a later value of a name wins)."

const described = (op: OperationName, schema: Schema): Schema => {
  const { description, fields } = OPERATION_TEXTS[op]
  const texts: Readonly<Record<string, string>> = { ...fields, meta: META_DESCRIPTION }
  const properties = "properties" in schema ? (schema.properties ?? {}) : {}
  const documented = Object.entries(properties).map(([field, property]) => {
    const text = texts[field]
    if (field === "tags") return [field, { ...property, items: TAG, description: text }]
    return [field, text === undefined ? property : { ...property, description: text }]
  })
  return { description, ...schema, properties: Object.fromEntries(documented) }
}

/** The rule against commas (D19) is a function in the domain, which no JSON Schema shows. */
const TAG = {
  type: "string",
  pattern: "^[^,]*[^,\\s][^,]*$",
  maxLength: LIMITS.shortTextCharacters
}
