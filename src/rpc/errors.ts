// Typed errors of the domain as tRPC errors, by table, and back again for whoever writes them.
import { type TRPC_ERROR_CODE_KEY, TRPCError } from "@trpc/server"
import { Cause, Option } from "effect"
import { z } from "zod"
import {
  type ErrorCode,
  InvalidRequest,
  type LedgerError,
  NotFound,
  ServerError,
  UNEXPECTED_MESSAGE
} from "../domain/errors.ts"

export const HTTP_STATUS: Readonly<Record<ErrorCode, number>> = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  VALIDATION_ERROR: 422,
  SERVER_ERROR: 500
}

export const TRPC_CODE: Readonly<Record<ErrorCode, TRPC_ERROR_CODE_KEY>> = {
  INVALID_REQUEST: "BAD_REQUEST",
  UNAUTHORIZED: "UNAUTHORIZED",
  FORBIDDEN: "FORBIDDEN",
  NOT_FOUND: "NOT_FOUND",
  VALIDATION_ERROR: "UNPROCESSABLE_CONTENT",
  SERVER_ERROR: "INTERNAL_SERVER_ERROR"
}

export const toTRPCError = (error: LedgerError): TRPCError =>
  new TRPCError({ code: TRPC_CODE[error._tag], message: error.message, cause: error })

const UNEXPECTED = new ServerError({ message: UNEXPECTED_MESSAGE, retryAfterSeconds: 1 })

/** The typed error of a failed program; anything else is unexpected, and its text stays inside. */
export const errorOfCause = (cause: Cause.Cause<LedgerError>): LedgerError =>
  Option.getOrElse(Cause.findErrorOption(cause), () => UNEXPECTED)

/** What went wrong in a call, in the ledger's words: never the library's. */
export const errorOfTRPC = (error: TRPCError): LedgerError => {
  const { cause } = error
  if (isLedgerError(cause)) return cause
  if (cause instanceof z.core.$ZodError) return new InvalidRequest({ message: inputMessage(cause) })
  switch (error.code) {
    case "NOT_FOUND":
      return new NotFound({ message: "There is no such procedure." })
    case "INTERNAL_SERVER_ERROR":
      return UNEXPECTED
    default:
      return new InvalidRequest({ message: "The request is not a valid call of a procedure." })
  }
}

const isLedgerError = (error: unknown): error is LedgerError =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  String(error._tag) in HTTP_STATUS

/** Our schemas say what is wrong themselves; zod's own sentences are not repeated. */
const inputMessage = (error: z.core.$ZodError): string => {
  const issue = error.issues[0]
  const field = issue?.path.map(String).join(".") ?? ""
  if (field === "") return "The input must be an object."
  const message = issue?.message.startsWith("must ") ? issue.message : "is missing or not valid"
  return `The parameter "${field}" ${message}.`
}
