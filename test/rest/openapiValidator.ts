// Holds values to the OpenAPI document: its schemas through Ajv, stricter than the document says them
// (a field that is not documented is refused), and the answers of a service to what its path may send.
import { Ajv2020 } from "ajv/dist/2020.js"
import { fullFormats } from "ajv-formats/dist/formats.js"
import { assert } from "vitest"
import { openApiDocument } from "../../src/rest/openapi.ts"
import type { Reply } from "../support/service.ts"

type Json = Record<string, unknown>

export const document = openApiDocument() as Json

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Every object schema with listed properties, closed: the API may grow, but only with its document. */
const closed = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(closed)
  if (!isObject(schema)) return schema
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)])
  const isOpen = "properties" in schema && !("additionalProperties" in schema)
  return { ...Object.fromEntries(entries), ...(isOpen ? { additionalProperties: false } : {}) }
}

const components = document.components as Json
const strictDocument = {
  ...document,
  components: { ...components, schemas: closed(components.schemas) }
}

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: fullFormats })
ajv.addSchema(strictDocument, "document")

const pointer = (path: ReadonlyArray<string>) =>
  path.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")

/** What is wrong with a value, seen by the schema at a place in the document; empty: nothing. */
export const problems = (place: ReadonlyArray<string>, value: unknown): ReadonlyArray<string> => {
  const validate = ajv.getSchema(`document#/${pointer(place)}`)
  if (validate === undefined) return [`no schema at ${place.join(" ")}`]
  validate(value)
  return (validate.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)
}

/** The place that a place stands for: itself, or where its `$ref` points. */
export const resolved = (place: ReadonlyArray<string>): ReadonlyArray<string> => {
  const value = at(place)
  if (!isObject(value) || typeof value.$ref !== "string") return place
  return value.$ref.slice(2).split("/")
}

export const at = (place: ReadonlyArray<string>): unknown =>
  place.reduce<unknown>((value, part) => (isObject(value) ? value[part] : undefined), document)

export const keysAt = (place: ReadonlyArray<string>): ReadonlyArray<string> => {
  const value = at(place)
  return isObject(value) ? Object.keys(value) : []
}

/** Fails unless the document says that this path and method may answer so, in status, headers and body. */
export const assertDocumented = (path: string, method: "get" | "post", reply: Reply): void => {
  const title = `${method} ${path} ${reply.status}`
  const place = resolved(["paths", path, method, "responses", String(reply.status)])
  assert.isDefined(at(place), `${title} is documented`)
  assert.match(reply.headers.get("content-type") ?? "", /^application\/json\b/, title)
  const schema = [...place, "content", "application/json", "schema"]
  assert.deepStrictEqual(problems(schema, reply.body), [], title)
  for (const name of keysAt([...place, "headers"])) {
    const header = resolved([...place, "headers", name])
    const text = reply.headers.get(name)
    assert.isNotNull(text, `${title} has the header ${name}`)
    const isInteger = at([...header, "schema", "type"]) === "integer"
    const value = isInteger ? Number(text) : text
    assert.deepStrictEqual(problems([...header, "schema"], value), [], `${title} ${name}`)
  }
}

export interface Example {
  readonly title: string
  readonly schema: ReadonlyArray<string>
  readonly value: unknown
}

/** Every example in the document, with the place of the schema that it belongs to. */
export const allExamples = (place: ReadonlyArray<string> = []): ReadonlyArray<Example> => {
  const value = at(place)
  if (!isObject(value)) return []
  const title = place.join(" ")
  const inside = Object.keys(value)
    .filter((name) => name !== "examples" && name !== "example")
    .flatMap((name) => allExamples([...place, name]))
  const schema = "schema" in value ? [...place, "schema"] : place
  const named = isObject(value.examples) ? Object.entries(value.examples) : []
  const listed = Array.isArray(value.examples) ? value.examples : []
  return [
    ...inside,
    ...("example" in value ? [{ title, schema, value: value.example }] : []),
    ...listed.map((item: unknown) => ({ title, schema, value: item })),
    ...named.map(([name, example]) => ({
      title: `${title} ${name}`,
      schema,
      value: isObject(example) ? example.value : undefined
    }))
  ]
}
