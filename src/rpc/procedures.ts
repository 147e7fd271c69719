// tRPC's building blocks for this service: the error shape, and the two kinds of procedure.
import { initTRPC } from "@trpc/server"
import type { OpenApiMeta } from "trpc-to-openapi"
import { z } from "zod"
import { Forbidden } from "../domain/errors.ts"
import type { RpcContext } from "./context.ts"
import { errorOfTRPC, HTTP_STATUS, toTRPCError } from "./errors.ts"

const trpc = initTRPC
  .context<RpcContext>()
  .meta<OpenApiMeta>()
  .create({
    isDev: false,
    /** `error.data` has the spec's code; nothing of the library or of a stack goes out. */
    errorFormatter: ({ error, shape }) => {
      const { _tag: code, message } = errorOfTRPC(error)
      return {
        ...shape,
        message,
        data: { code, httpStatus: HTTP_STATUS[code], path: shape.data.path }
      }
    }
  })

export const router = trpc.router
export const createCallerFactory = trpc.createCallerFactory

/** Any token of the workspace: «full read and write access». */
export const procedure = trpc.procedure

/** Tokens with the role `admin` only (D25). */
export const adminProcedure = trpc.procedure.use(({ ctx, next }) => {
  if (ctx.caller.role === "admin") return next()
  throw toTRPCError(new Forbidden({ message: "Only an admin token may use the settings." }))
})

/**
 * An output that is documented but not parsed again: our own code built it, and zod would drop own
 * `__proto__` keys from metadata and cost as much as the query did. The contract tests hold every
 * answer to the documented shape instead.
 */
export const documented = <Schema extends z.ZodType>(schema: Schema) => {
  const { $schema: _, ...shape } = z.toJSONSchema(schema, { io: "output", reused: "inline" })
  return z
    .custom<z.output<Schema>>(() => true)
    .meta({ override: ({ jsonSchema }) => void Object.assign(jsonSchema, shape) })
}
