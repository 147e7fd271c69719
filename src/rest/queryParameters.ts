// Query parameters by the shape of their list: text stays text, integers are digits only, booleans
// are true or false. What the shape does not name is ignored; what is empty is absent (D9).
import { Result } from "effect"
import { z } from "zod"
import { InvalidRequest } from "../domain/errors.ts"
import { quote } from "../domain/limits.ts"
import type { Target } from "./target.ts"

export type QueryValues = Readonly<Record<string, string | number | boolean>>

const invalid = (message: string) => Result.fail(new InvalidRequest({ message }))

/** Fails with `INVALID_REQUEST` naming the parameter: given twice, or not of its kind. */
export const parseQuery = (
  query: Target["query"],
  shape: z.ZodObject
): Result.Result<QueryValues, InvalidRequest> => {
  const values: Record<string, string | number | boolean> = {}
  for (const [name, text] of query) {
    if (text === "" || !Object.hasOwn(shape.shape, name)) continue
    if (Object.hasOwn(values, name)) {
      return invalid(`The query parameter "${name}" is given more than once.`)
    }
    const value = convert(shape.shape[name], name, text)
    if (value === undefined)
      return invalid(
        `The query parameter "${name}" ${wanted(shape.shape[name])}, not ${quote(text)}.`
      )
    values[name] = value
  }
  return Result.succeed(values)
}

const kindOf = (schema: unknown) => {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  if (inner instanceof z.ZodNumber) return "integer"
  return inner instanceof z.ZodBoolean ? "boolean" : "text"
}

const wanted = (schema: unknown) =>
  kindOf(schema) === "integer" ? "must be an integer" : "must be true or false"

const convert = (schema: unknown, name: string, text: string) => {
  switch (kindOf(schema)) {
    case "integer":
      return integer(text)
    case "boolean":
      return text === "true" ? true : text === "false" ? false : undefined
    case "text":
      // A `+` of a time zone that was not escaped arrived as a space (D9).
      return name === "since" ? text.replace(" ", "+") : text
  }
}

/** Digits, with a sign in front at the most. What is too large to be exact is the largest exact. */
const integer = (text: string): number | undefined =>
  /^-?\d+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined
