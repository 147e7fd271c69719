// The six errors of the spec. The tag of each class is its wire code, so the tables that turn an
// error into a status (rest/) or a tRPC code (rpc/) are complete by construction.
import { Schema } from "effect"

/** 400: malformed JSON, a missing or ill-typed field, an unknown operation. */
export class InvalidRequest extends Schema.TaggedError<InvalidRequest>()("INVALID_REQUEST", {
  message: Schema.String
}) {}

/** 401: `X-Proxy-Token` missing or invalid. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("UNAUTHORIZED", {
  message: Schema.String
}) {}

/** 403: a valid token without access to the workspace, or to the settings. */
export class Forbidden extends Schema.TaggedError<Forbidden>()("FORBIDDEN", {
  message: Schema.String
}) {}

/** 404: a referenced commitment or memory does not exist. */
export class NotFound extends Schema.TaggedError<NotFound>()("NOT_FOUND", {
  message: Schema.String
}) {}

/** 422: a well-formed request that breaks a business rule. */
export class ValidationError extends Schema.TaggedError<ValidationError>()("VALIDATION_ERROR", {
  message: Schema.String
}) {}

/** 500: not performed, through no fault of the caller; may be tried again after the given seconds. */
export class ServerError extends Schema.TaggedError<ServerError>()("SERVER_ERROR", {
  message: Schema.String,
  retryAfterSeconds: Schema.Number
}) {}

export type LedgerError =
  | InvalidRequest
  | Unauthorized
  | Forbidden
  | NotFound
  | ValidationError
  | ServerError

export type ErrorCode = LedgerError["_tag"]

/** What callers are told of every defect. The cause goes to the log and nowhere else. */
export const UNEXPECTED_MESSAGE = "Unexpected internal error. The request was not performed."

/** The service cannot take the request now; the same request may succeed in a moment. */
export const unavailable = (reason: string) =>
  new ServerError({ message: `${reason} Nothing was performed; try again.`, retryAfterSeconds: 1 })
