// Records with their long texts replaced by digests, so that a whole workspace can be replayed in
// bounded memory and still be compared to the last character. Used by replay.ts and verify.ts.
import { createHash } from "node:crypto"
import { canonicalJson } from "./hashChain.ts"
import { isJsonObject, type JsonObject } from "./jsonValue.ts"
import { quote } from "./limits.ts"
import type { Operation } from "./operations.ts"
import type { CommitmentRecord, MemoryRecord } from "./records.ts"

/** A digest is longer than this, so shorter texts are kept as they are. */
const KEPT_CHARACTERS = 80

/** No text that the ledger accepts begins with NUL: a digest is never mistaken for one. */
const DIGEST_MARK = "\0sha256:"

const compactText = (text: string): string =>
  text.length <= KEPT_CHARACTERS
    ? text
    : `${DIGEST_MARK}${createHash("sha256").update(text).digest("hex")}`

/** Merging replaces whole values of the top level, so each of them can be compacted by itself. */
const compactMeta = (meta: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(meta).map(([key, value]) => [key, compactText(canonicalJson(value))])
  )

const TEXT_FIELDS = ["title", "body"] as const

const compact = <Value extends object>(value: Value): Value => {
  const fields: Record<string, unknown> = Object.fromEntries(Object.entries(value))
  for (const name of TEXT_FIELDS) {
    if (typeof fields[name] === "string") fields[name] = compactText(fields[name])
  }
  if (isJsonObject(fields.meta)) fields.meta = compactMeta(fields.meta)
  return fields as Value
}

/** The operation as replay needs it: what it changes in a record, and nothing of its evidence. */
export const compactOperation = (operation: Operation): Operation => compact(operation)
export const compactCommitment = (record: CommitmentRecord): CommitmentRecord => compact(record)
export const compactMemory = (record: MemoryRecord): MemoryRecord => compact(record)

export interface Difference {
  /** The field, as the interface calls it. */
  readonly field: string
  readonly stored: string
  readonly expected: string
}

/** The first field in which two values of one shape differ. */
export const firstDifference = <Value extends object>(
  stored: Value,
  expected: Value
): Difference | undefined => {
  const storedFields = new Map(Object.entries(stored))
  const expectedFields = new Map(Object.entries(expected))
  for (const name of new Set([...expectedFields.keys(), ...storedFields.keys()])) {
    const one: unknown = storedFields.get(name)
    const other: unknown = expectedFields.get(name)
    if (canonicalJson(one) === canonicalJson(other)) continue
    const inner = isJsonObject(one) && isJsonObject(other) ? firstDifference(one, other) : undefined
    return inner === undefined
      ? { field: snakeCase(name), stored: shown(one), expected: shown(other) }
      : { ...inner, field: `${snakeCase(name)}.${inner.field}` }
  }
  return undefined
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const shown = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (typeof value !== "string") return quote(canonicalJson(value).replaceAll('"', "'"))
  return value.startsWith(DIGEST_MARK)
    ? `a text with the SHA-256 ${value.slice(DIGEST_MARK.length, DIGEST_MARK.length + 16)}…`
    : quote(value)
}
