// What both doors, the REST paths and tRPC, take from an HTTP request for the procedures.
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Caller } from "../domain/authenticate.ts"
import { InvalidRequest } from "../domain/errors.ts"
import type { RpcContext, RunDomain } from "../rpc/context.ts"
import type { ReceiveBody } from "./body.ts"

export interface FrontOptions {
  readonly run: RunDomain
  readonly receiveBody: ReceiveBody
  /** Behind a proxy that ends TLS, requests must say that they came by HTTPS. */
  readonly behindProxy: boolean
  readonly isStopping: () => boolean
}

/** A header that is given and not empty. */
export const headerText = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

export const makeContext = (
  request: IncomingMessage,
  response: ServerResponse,
  caller: Caller,
  run: RunDomain
): RpcContext => ({
  caller,
  idempotencyKey: idempotencyKey(request),
  run,
  signal: abortedWhenGone(response),
  setHeader: (name, value) => {
    if (!response.headersSent) response.setHeader(name, value)
  }
})

const idempotencyKey = (request: IncomingMessage): string | undefined => {
  if (request.method !== "POST" || request.headers["idempotency-key"] === undefined) {
    return undefined
  }
  const values = request.headersDistinct["idempotency-key"] ?? []
  if (values.length > 1) {
    throw new InvalidRequest({ message: "The header Idempotency-Key is given more than once." })
  }
  return values[0]
}

/** A caller that left before its operation was taken is not served. */
const abortedWhenGone = (response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  response.once("close", () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}
