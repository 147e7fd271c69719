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
  signal: abortedWhenGone(request, response),
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

/** How often a caller that has shut down its writing side is asked whether it still listens. */
const ASKED_EVERY_MILLISECONDS = 250

/**
 * A caller that left before its operation was taken is not served. One that shut down its writing side
 * has either said everything or closed its socket: the same to the server, until it writes something.
 * So while the answer takes its time there is `102 Processing` now and then: who still listens skips
 * it, as HTTP/1.1 says; the system of who left answers it with a reset.
 */
const abortedWhenGone = (request: IncomingMessage, response: ServerResponse): AbortSignal => {
  const controller = new AbortController()
  const { socket } = request
  let asking: NodeJS.Timeout | undefined
  const ask = () => {
    if (!response.headersSent) response.writeProcessing()
  }
  const shutDown = () => {
    if (request.httpVersion === "1.1") asking = setInterval(ask, ASKED_EVERY_MILLISECONDS)
  }
  if (socket.readableEnded) shutDown()
  else socket.once("end", shutDown)
  response.once("close", () => {
    clearInterval(asking)
    socket.removeListener("end", shutDown)
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}
