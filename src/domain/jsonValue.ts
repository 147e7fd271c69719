// What a JSON value must be before anything else looks at it (decisions D18, D20): not too deep,
// and made of text and numbers that can be stored and read back unchanged.
import { LIMITS } from "./limits.ts"

export type JsonObject = { readonly [key: string]: unknown }

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textProblem = (text: string): string | undefined => {
  if (text.includes("\0")) return "The NUL character is not accepted in text."
  if (!text.isWellFormed()) return "Text must not hold half of a surrogate pair."
  return undefined
}

/** The first reason why a parsed JSON value is refused, or undefined when there is none. */
export const jsonProblem = (value: unknown, depth = 1): string | undefined => {
  if (typeof value === "string") return textProblem(value)
  if (typeof value === "number") {
    return Number.isFinite(value) ? undefined : "A number is too large to be represented."
  }
  if (typeof value !== "object" || value === null) return undefined
  if (depth > LIMITS.jsonDepth) return `JSON is nested deeper than ${LIMITS.jsonDepth} levels.`
  if (Array.isArray(value)) return firstProblem(value, depth + 1)
  const keys = Object.keys(value)
  return (
    firstProblem(keys, depth) ??
    firstProblem(
      keys.map((key) => (value as JsonObject)[key]),
      depth + 1
    )
  )
}

const firstProblem = (values: ReadonlyArray<unknown>, depth: number): string | undefined => {
  for (const value of values) {
    const problem = jsonProblem(value, depth)
    if (problem !== undefined) return problem
  }
  return undefined
}
