// The HTTP front: everything a request must pass before a procedure is called, in the order of the
// README's error precedence. It is thin: it reads, authenticates, routes and writes, and decides
// nothing about the ledger.
import type { IncomingMessage, ServerResponse } from "node:http"
import { TRPCError } from "@trpc/server"
import { Effect, Result } from "effect"
import { Authenticator, type Caller, TOKEN_MISSING } from "../domain/authenticate.ts"
import {
  InvalidRequest,
  type LedgerError,
  NotFound,
  Unauthorized,
  unavailable
} from "../domain/errors.ts"
import { isJsonObject, type JsonObject } from "../domain/jsonValue.ts"
import { quote } from "../domain/limits.ts"
import { requireWorkspaceNamed } from "../domain/performOperation.ts"
import type { RunDomain } from "../rpc/context.ts"
import { errorOfTRPC } from "../rpc/errors.ts"
import { makeAdapter } from "./adapter.ts"
import { parseJson, type RequestBody } from "./body.ts"
import { MethodNotAllowed, type Refusal, writeError, writeJson } from "./envelope.ts"
import { recordRequest } from "./httpMetrics.ts"
import { parseQuery } from "./queryParameters.ts"
import { type FrontOptions, headerText, makeContext } from "./requestContext.ts"
import { allowedMethods, type Match, matchRoute, ROUTES } from "./routes.ts"
import { parseTarget, type Target } from "./target.ts"
import { makeTrpcHandler, TRPC_SEGMENT } from "./trpcHandler.ts"

/** Who calls, and whether only a bearer token says so: good for `webhook.register` alone (D14). */
interface Authentication {
  readonly caller: Caller
  readonly byBearer: boolean
}

export const makeFront = (options: FrontOptions) => {
  const { run } = options
  const callProcedure = makeAdapter()
  const handleTrpc = makeTrpcHandler(options)

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const received = options.receiveBody(request, response)
    if (options.isStopping()) throw unavailable("The service is stopping.")
    requireWellFormed(request, options.behindProxy)
    const target = parseTarget(request.url ?? "")
    if (Result.isSuccess(target) && target.success.segments[0] === TRPC_SEGMENT) {
      return handleTrpc(request, response, received)
    }
    const isOps =
      request.method === "POST" &&
      Result.isSuccess(target) &&
      target.success.segments.join("/") === "ops"
    const authentication = await authenticate(run, request, isOps)
    const { match, query } = route(
      request.method ?? "",
      Result.getOrThrowWith(target, (e) => e)
    )
    const body =
      match.route === ROUTES.ops
        ? await readOperation(request, received, authentication)
        : undefined
    const context = makeContext(request, response, authentication.caller, run)
    const { method } = match.route
    const outcome = await callProcedure({ method, path: match.path, query, body, context })
    if ("error" in outcome) throw outcome.error
    writeJson(response, 200, {}, outcome.body)
  }

  const readOperation = async (
    request: IncomingMessage,
    received: RequestBody,
    { byBearer }: Authentication
  ): Promise<JsonObject> => {
    const body = parseJson(await received.text())
    if (!isJsonObject(body)) {
      throw new InvalidRequest({ message: "The request body must be a JSON object." })
    }
    if (byBearer && body.op !== "webhook.register") {
      throw new Unauthorized({ message: TOKEN_MISSING })
    }
    if (byBearer && headerText(request, "x-workspace-id") === undefined) {
      await run(requireWorkspaceNamed(body))
    }
    return body
  }

  /** Answers every request, also one that fails in a way nobody thought of. */
  return (request: IncomingMessage, response: ServerResponse): void => {
    recordRequest(request, response)
    answer(request, response).catch((error: unknown) => {
      writeError(request, response, refusalOf(error))
    })
  }
}

const refusalOf = (error: unknown): Refusal => {
  if (error instanceof MethodNotAllowed) return error
  if (error instanceof TRPCError) return errorOfTRPC(error)
  if (typeof error === "object" && error !== null && "_tag" in error) return error as LedgerError
  return errorOfTRPC(new TRPCError({ code: "INTERNAL_SERVER_ERROR" }))
}

const requireWellFormed = (request: IncomingMessage, behindProxy: boolean) => {
  if (request.headers.host === undefined && request.httpVersion !== "1.0") {
    throw new InvalidRequest({ message: "The header Host is required." })
  }
  if (behindProxy && request.headers["x-forwarded-proto"] !== "https") {
    throw new InvalidRequest({ message: "Only HTTPS is served; plain HTTP must not be used." })
  }
  const { expect } = request.headers
  if (expect !== undefined && expect.toLowerCase() !== "100-continue") {
    throw new InvalidRequest({ message: "The only expectation that is met is 100-continue." })
  }
}

/** «401, 403» come before anything about the path or the body (D11). */
const authenticate = async (
  run: RunDomain,
  request: IncomingMessage,
  isOps: boolean
): Promise<Authentication> => {
  const token = headerText(request, "x-proxy-token")
  const workspaceId = headerText(request, "x-workspace-id")
  const bearer = isOps && token === undefined ? bearerToken(request) : undefined
  if (bearer !== undefined && workspaceId === undefined) {
    const caller = await run(Effect.flatMap(Authenticator, (auth) => auth.identify(bearer)))
    return { caller, byBearer: true }
  }
  const caller = await run(
    Effect.flatMap(Authenticator, (auth) => auth.authenticate(token ?? bearer, workspaceId))
  )
  return { caller, byBearer: bearer !== undefined }
}

const bearerToken = (request: IncomingMessage) =>
  /^Bearer[ ]+(\S+)$/i.exec(request.headers.authorization ?? "")?.[1]

/** «Unknown path 404, wrong method 405», then the query. */
const route = (method: string, target: Target) => {
  const match: Match | undefined = matchRoute(target.segments)
  if (match === undefined) {
    const path = quote(`/${target.segments.join("/")}`)
    throw new NotFound({ message: `There is nothing at the path ${path}.` })
  }
  const allowed = allowedMethods(match.route)
  if (!allowed.split(", ").includes(method)) throw new MethodNotAllowed(method, allowed)
  const { query: shape } = match.route
  const query =
    shape === undefined ? {} : Result.getOrThrowWith(parseQuery(target.query, shape), (e) => e)
  return { match, query }
}
