// What every answer of the REST paths must be: an accepted one, or a refusal in the spec's envelope
// that says nothing of what the service is made of. Used by the tests in this folder.
import { assert } from "vitest"
import type { Reply, TestService } from "../support/service.ts"

/** The spec's error table: which status each code has. */
export const STATUS_OF_CODE = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  VALIDATION_ERROR: 422,
  SERVER_ERROR: 500
} as const

export type Code = keyof typeof STATUS_OF_CODE

/** Words of libraries, of the database and of stack traces: none may reach a caller. */
const INTERNAL_WORDS = [
  /\bat (?:async )?[\w.<>]+ \(/,
  /\bfile:\/\//,
  /node_modules/,
  /\.[cm]?[jt]s:\d+/,
  /\bzod\b/i,
  /\btrpc\b/i,
  /\bsql\b/i,
  /\bpg\b/i,
  /postgres/i,
  /\bstack\b/i,
  /(?:Type|Range|Syntax|Reference)?Error:/,
  /Unexpected (?:token|end|non-whitespace)/,
  /Invalid (?:input|string|option)/,
  /\[object Object\]/,
  /\bundefined\b/,
  /\bexpected .+ received\b/i
]

export const assertNothingInternal = (text: string): void => {
  for (const word of INTERNAL_WORDS) assert.notMatch(text, word)
}

/** The refusal has the spec's body and nothing else, and its message has all the given parts. */
export const assertRefused = (
  reply: Pick<Reply, "status" | "body">,
  code: Code,
  parts: ReadonlyArray<string> = [],
  status: number = STATUS_OF_CODE[code]
): void => {
  assert.strictEqual(reply.status, status, JSON.stringify(reply.body))
  assertErrorBody(reply.body)
  assert.strictEqual(reply.body.error.code, code, reply.body.error.message)
  for (const part of parts) assert.include(reply.body.error.message, part)
}

// biome-ignore lint/suspicious/noExplicitAny: any answer may come here; that is what is checked.
export const assertErrorBody = (body: any): void => {
  assert.deepStrictEqual(Object.keys(body), ["success", "error"])
  assert.deepStrictEqual(Object.keys(body.error).toSorted(), ["code", "message"])
  assert.strictEqual(body.success, false)
  assert.isString(body.error.message)
  assert.isAbove(body.error.message.length, 0)
  assert.isBelow(body.error.message.length, 1_000)
  assertNothingInternal(body.error.message)
}

/** The operation succeeded: exactly the spec's three fields. Gives the id of its record. */
export const assertPerformed = (reply: Pick<Reply, "status" | "body">): string => {
  assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
  assert.deepStrictEqual(Object.keys(reply.body), ["success", "op_id", "record_id"])
  assert.strictEqual(reply.body.success, true)
  assert.match(reply.body.op_id, /^op_[0-9a-z]{26}$/)
  return reply.body.record_id
}

/** How many operations the workspace's ledger holds. */
export const operationCount = async (service: Pick<TestService, "get">): Promise<number> => {
  const status = await service.get("/status")
  return status.body.data.ledger.total_operations
}

/** The rows of a table written as text: cells between bars, blank lines left out. */
export const tableRows = (text: string): Array<Array<string>> =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.split("|").map((cell) => cell.trim()))
