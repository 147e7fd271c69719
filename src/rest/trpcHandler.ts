// tRPC under `/trpc`: the same authentication and the same error codes, in tRPC's own envelope.
import type { IncomingMessage, ServerResponse } from "node:http"
import { nodeHTTPRequestHandler } from "@trpc/server/adapters/node-http"
import { Effect } from "effect"
import { Authenticator } from "../domain/authenticate.ts"
import { errorOfTRPC, HTTP_STATUS } from "../rpc/errors.ts"
import { appRouter } from "../rpc/router.ts"
import { COMMON_HEADERS } from "./envelope.ts"
import { type FrontOptions, headerText, makeContext } from "./requestContext.ts"

export const TRPC_SEGMENT = "trpc"
const TRPC_PREFIX = `/${TRPC_SEGMENT}/`

export const makeTrpcHandler =
  ({ maxBodyBytes, run }: FrontOptions) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value)
    const [path = ""] = (request.url ?? "").split("?", 1)
    await nodeHTTPRequestHandler({
      req: request,
      res: response,
      path: path.slice(TRPC_PREFIX.length),
      router: appRouter,
      maxBodySize: maxBodyBytes,
      createContext: async () => {
        const token = headerText(request, "x-proxy-token")
        const workspaceId = headerText(request, "x-workspace-id")
        const caller = await run(
          Effect.flatMap(Authenticator, (auth) => auth.authenticate(token, workspaceId))
        )
        return makeContext(request, response, caller, run)
      },
      responseMeta: ({ errors }) => {
        const [error, ...others] = errors
        if (error === undefined || others.length > 0) return {}
        if (error.code === "METHOD_NOT_SUPPORTED") return { status: 405 }
        return { status: HTTP_STATUS[errorOfTRPC(error)._tag] }
      }
    })
  }
