// tRPC under `/trpc`: the same authentication, the same strict bodies and the same error codes, in
// tRPC's own envelope.
import type { IncomingMessage, ServerResponse } from "node:http"
import { TRPCError } from "@trpc/server"
import { nodeHTTPRequestHandler } from "@trpc/server/adapters/node-http"
import { TRPC_ERROR_CODES_BY_KEY } from "@trpc/server/rpc"
import { Effect } from "effect"
import { Authenticator, type Caller } from "../domain/authenticate.ts"
import type { LedgerError } from "../domain/errors.ts"
import { errorOfTRPC, HTTP_STATUS, TRPC_CODE } from "../rpc/errors.ts"
import { appRouter } from "../rpc/router.ts"
import type { RequestBody } from "./body.ts"
import { COMMON_HEADERS, leavesMuchUnread, MethodNotAllowed, writeJson } from "./envelope.ts"
import { type FrontOptions, headerText, makeContext } from "./requestContext.ts"

export const TRPC_SEGMENT = "trpc"
const TRPC_PREFIX = `/${TRPC_SEGMENT}/`
const ALLOWED = "GET, POST"

export const makeTrpcHandler = (options: FrontOptions) => {
  const { run } = options

  /** Authentication, then the method, then the body: before tRPC looks at anything. */
  const check = async (request: IncomingMessage, received: RequestBody): Promise<Caller> => {
    const token = headerText(request, "x-proxy-token")
    const workspaceId = headerText(request, "x-workspace-id")
    const caller = await run(
      Effect.flatMap(Authenticator, (auth) => auth.authenticate(token, workspaceId))
    )
    const method = request.method ?? ""
    if (!ALLOWED.split(", ").includes(method)) throw new MethodNotAllowed(method, ALLOWED)
    if (method === "POST") {
      // tRPC takes a text from here and does not read the request itself.
      Object.assign(request, { body: await received.text() })
    }
    return caller
  }

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    received: RequestBody
  ): Promise<void> => {
    let caller: Caller
    try {
      caller = await check(request, received)
    } catch (error) {
      return writeRefusal(request, response, error)
    }
    for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value)
    const [path = ""] = (request.url ?? "").split("?", 1)
    await nodeHTTPRequestHandler({
      req: request,
      res: response,
      path: path.slice(TRPC_PREFIX.length),
      router: appRouter,
      createContext: async () => makeContext(request, response, caller, run),
      responseMeta: ({ errors, info }) => {
        const [error] = errors
        // The calls of a batch have one status each, in their own answers.
        if (error === undefined || (info?.calls.length ?? 1) > 1) return {}
        if (error.code === "METHOD_NOT_SUPPORTED") return { status: 405 }
        const refusal = errorOfTRPC(error)
        return { status: HTTP_STATUS[refusal._tag], headers: new Headers(retryAfter(refusal)) }
      }
    })
  }
}

const retryAfter = (refusal: LedgerError): Record<string, string> =>
  refusal._tag === "SERVER_ERROR" ? { "Retry-After": String(refusal.retryAfterSeconds) } : {}

const writeRefusal = (request: IncomingMessage, response: ServerResponse, error: unknown) => {
  const refusal = error instanceof TRPCError ? errorOfTRPC(error) : (error as LedgerError)
  const wrongMethod = error instanceof MethodNotAllowed
  const httpStatus = wrongMethod ? 405 : HTTP_STATUS[refusal._tag]
  const headers: Record<string, string> = wrongMethod ? { Allow: ALLOWED } : retryAfter(refusal)
  if (leavesMuchUnread(request)) headers.Connection = "close"
  const { _tag: code, message } = refusal
  const data = { code, httpStatus }
  const body = { error: { message, code: TRPC_ERROR_CODES_BY_KEY[TRPC_CODE[code]], data } }
  writeJson(response, httpStatus, headers, JSON.stringify(body))
}
