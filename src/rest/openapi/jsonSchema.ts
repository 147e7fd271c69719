// From zod shapes to the component schemas of the document: one definition per shape, referred to
// wherever it is used, in the plainest words that OpenAPI 3.1 has for it.
import { z } from "zod"
import { type Schema, schemaRef } from "./documentTypes.ts"

type JsonSchema = Record<string, unknown>

/**
 * The named shapes as component schemas. `input` is what callers may write, `output` what they get.
 * Shapes that contain each other refer to each other.
 */
export const componentSchemas = (
  shapes: Readonly<Record<string, z.ZodType>>,
  io: "input" | "output"
): Record<string, Schema> => {
  const registry = z.registry<{ id: string }>()
  for (const [id, shape] of Object.entries(shapes)) registry.add(shape, { id })
  const { schemas } = z.toJSONSchema(registry, { io, uri: (id) => schemaRef(id).$ref })
  return Object.fromEntries(
    Object.keys(shapes).map((name) => [name, plain(schemas[name] ?? {}) as Schema])
  )
}

/** The properties of an object shape, for parameters, which OpenAPI lists one by one. */
export const propertySchemas = (shape: z.ZodObject): Readonly<Record<string, JsonSchema>> => {
  const { properties } = plain(z.toJSONSchema(shape, { io: "input" })) as JsonSchema
  return properties as Record<string, JsonSchema>
}

/** Rewrites a schema, and every schema in it, without what says nothing or says too much. */
const plain = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(plain)
  if (typeof schema !== "object" || schema === null) return schema
  const entries = Object.entries(schema)
    .filter(([keyword, value]) => !isNoise(keyword, value, schema))
    .map(([keyword, value]) => [keyword, keyword === "examples" ? value : plain(value)])
  return withTypeArray(Object.fromEntries(entries))
}

const isNoise = (keyword: string, value: unknown, schema: object): boolean => {
  switch (keyword) {
    case "$schema":
    case "$id":
      return true
    // The API grows by addition (D24), so no answer promises that nothing will be added.
    case "additionalProperties":
      return value === false
    // Every JSON object has strings for names.
    case "propertyNames":
      return true
    // Zod spells the format out as a long expression.
    case "pattern":
      return "format" in schema && schema.format === "date-time"
    case "maximum":
      return value === Number.MAX_SAFE_INTEGER
    default:
      return false
  }
}

/** `anyOf: [{type: "array", …}, {type: "null"}]` is `type: ["array", "null"], …`. */
const withTypeArray = (schema: JsonSchema): JsonSchema => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [given, nothing] = anyOf as [JsonSchema, JsonSchema]
  if (nothing.type !== "null" || typeof given.type !== "string") return schema
  const values = Array.isArray(given.enum) ? { enum: [...given.enum, null] } : {}
  return { ...given, ...rest, type: [given.type, "null"], ...values }
}
