// Between our front and trpc-to-openapi: hands a checked request to its node-http handler, and takes
// the answer or the typed error from it. Its own body reader, query parser and error bodies are never
// on the path (docs/rest-front.md tells what they would do).
import { createOpenApiNodeHttpHandler } from "trpc-to-openapi"
import { z } from "zod"
import type { LedgerError } from "../domain/errors.ts"
import { CommitmentListQuery, MemoryListQuery } from "../domain/listQueries.ts"
import type { RpcContext } from "../rpc/context.ts"
import { errorOfTRPC } from "../rpc/errors.ts"
import { appRouter } from "../rpc/router.ts"
import type { QueryValues } from "./queryParameters.ts"

export interface CheckedRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly query: QueryValues
  readonly body: unknown
  readonly context: RpcContext
}

export type Outcome = { readonly body: string } | { readonly error: LedgerError }

/**
 * What the handler reads of a request. It is a `Request` by prototype, because the handler would
 * otherwise build a whole one from an IncomingMessage, for its abort signal alone.
 */
class AdapterRequest {
  readonly method: string
  readonly url: string
  readonly body: unknown
  readonly query: Readonly<Record<string, ReadonlyArray<unknown>>>
  readonly headers = JSON_HEADERS
  readonly signal: AbortSignal | undefined
  readonly context: RpcContext
  failure: LedgerError | undefined

  constructor(request: CheckedRequest) {
    this.method = request.method
    this.url = request.path
    this.body = request.body
    // In arrays, because the handler drops what is falsy, and an offset of 0 is.
    this.query = Object.fromEntries(
      Object.entries(request.query).map(([name, value]) => [name, [value]])
    )
    this.signal = request.context.signal
    this.context = request.context
    this.failure = undefined
  }
}
Object.setPrototypeOf(AdapterRequest.prototype, Request.prototype)

/** The content type was checked by our front; the handler only accepts this spelling. */
const JSON_HEADERS = new Headers({ "content-type": "application/json" })

/** What the handler writes of a response: the body that it ends with. */
class AdapterResponse {
  statusCode = 200
  body = ""

  setHeader(): void {}

  end(body: string): void {
    this.body = body
  }
}

type HandlerOptions = Parameters<
  typeof createOpenApiNodeHttpHandler<typeof appRouter, never, never>
>[0]

/**
 * The handler turns coercion on in the schemas of its procedures, for good, and tRPC's own door shares
 * them. Query parameters are converted before they come here, so coercion stays off.
 */
const keepStrict = (shape: z.ZodObject) => {
  for (const field of Object.values(shape.shape)) {
    const schema = field instanceof z.ZodOptional ? field.unwrap() : field
    Object.defineProperty(schema._zod.def, "coerce", {
      configurable: true,
      get: () => false,
      set: () => {}
    })
  }
}
for (const shape of [CommitmentListQuery, MemoryListQuery]) keepStrict(shape)

/** Calls the procedure of a REST path. Never rejects. */
export const makeAdapter = () => {
  const handle = createOpenApiNodeHttpHandler({
    router: appRouter,
    createContext: ({ req }: { req: AdapterRequest }) => req.context,
    onError: ({
      error,
      req
    }: {
      error: Parameters<typeof errorOfTRPC>[0]
      req: AdapterRequest
    }) => {
      req.failure = errorOfTRPC(error)
    }
  } as unknown as HandlerOptions) as unknown as (
    request: AdapterRequest,
    response: AdapterResponse
  ) => Promise<void>

  return async (checked: CheckedRequest): Promise<Outcome> => {
    const request = new AdapterRequest(checked)
    const response = new AdapterResponse()
    await handle(request, response)
    return request.failure === undefined ? { body: response.body } : { error: request.failure }
  }
}
