// The spec's two bodies on the wire: an answer, or `{success: false, error: {code, message}}` with the
// status of its code. Every response of the REST paths is written here.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { LedgerError } from "../domain/errors.ts"
import { HTTP_STATUS } from "../rpc/errors.ts"
import { API_VERSION } from "../version.ts"

/** Headers of every response. `Ledger-Version` is the API's version (D24). */
export const COMMON_HEADERS = {
  "Ledger-Version": API_VERSION,
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff"
} as const

const JSON_TYPE = "application/json; charset=utf-8"

/** A wrong method is the one refusal whose status the spec's table does not have (D12). */
export class MethodNotAllowed {
  readonly _tag = "INVALID_REQUEST"
  readonly message: string
  readonly allow: string

  constructor(method: string, allow: string) {
    this.message = `The method ${method} is not allowed here. Allowed: ${allow}.`
    this.allow = allow
  }
}

export type Refusal = LedgerError | MethodNotAllowed

const statusOf = (refusal: Refusal) =>
  refusal instanceof MethodNotAllowed ? 405 : HTTP_STATUS[refusal._tag]

export const errorBody = (refusal: Refusal): string =>
  JSON.stringify({ success: false, error: { code: refusal._tag, message: refusal.message } })

/**
 * So much of a body is let past after a refusal: a connection that is closed while its client still
 * writes may lose the answer. A body that is longer is not read for the sake of it.
 */
const UNREAD_BYTES_TOLERATED = 1024 * 1024

export const leavesMuchUnread = (request: IncomingMessage): boolean => {
  if (request.complete || request.readableEnded) return false
  // Whether a body that waited for 100-continue still comes is the client's choice.
  if (request.headers.expect !== undefined) return true
  const length = request.headers["content-length"]
  if (length !== undefined) return Number(length) > UNREAD_BYTES_TOLERATED
  return request.headers["transfer-encoding"] !== undefined
}

export const writeJson = (
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string
): void => {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, {
    ...COMMON_HEADERS,
    "Content-Type": JSON_TYPE,
    "Content-Length": Buffer.byteLength(body),
    ...headers
  })
  response.end(body)
}

export const writeError = (
  request: IncomingMessage,
  response: ServerResponse,
  refusal: Refusal
): void => {
  const headers: Record<string, string> = {}
  if (refusal instanceof MethodNotAllowed) headers.Allow = refusal.allow
  else if (refusal._tag === "SERVER_ERROR") {
    headers["Retry-After"] = String(refusal.retryAfterSeconds)
  }
  if (leavesMuchUnread(request)) headers.Connection = "close"
  writeJson(response, statusOf(refusal), headers, errorBody(refusal))
}

/** The same error as bytes, for a request that never became one. Closes the connection. */
export const rawError = (refusal: Refusal): string => {
  const body = errorBody(refusal)
  const headers = {
    ...COMMON_HEADERS,
    "Content-Type": JSON_TYPE,
    "Content-Length": Buffer.byteLength(body),
    Connection: "close"
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `HTTP/1.1 ${statusOf(refusal)} Bad Request\r\n${lines.join("\r\n")}\r\n\r\n${body}`
}
