// What a failed statement means for whoever asked: the database is away or busy, or the statement
// itself cannot be carried out. A rollback over a lost connection arrives as a defect, so causes are
// looked at whole.
import { Cause, Effect } from "effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { type ServerError, unavailable } from "../errors.ts"

export type DatabaseFailure =
  /** The database is away, full, stopping, or somebody else holds a lock: worth trying again. */
  | "unavailable"
  /** The values cannot be stored: out of range, too long. */
  | "values"
  /** The statement was refused for another reason of the data, or is wrong. */
  | "refused"

const sqlErrorsIn = (cause: Cause.Cause<unknown>): ReadonlyArray<SqlError> =>
  cause.reasons.flatMap((reason) => {
    const error = Cause.isFailReason(reason)
      ? reason.error
      : Cause.isDieReason(reason)
        ? reason.defect
        : undefined
    return isSqlError(error) ? [error] : []
  })

const sqlState = (error: SqlError): string => {
  const { cause } = error.reason
  if (typeof cause !== "object" || cause === null || !("code" in cause)) return ""
  return typeof cause.code === "string" ? cause.code : ""
}

/** Classes: connection, insufficient resources, operator intervention, transaction timeouts. */
const UNAVAILABLE_STATES = /^(08|53|57|25P0[34]|55006)/
/** Classes: data exception, program limit exceeded. */
const VALUE_STATES = /^(22|54)/

const classify = (error: SqlError): DatabaseFailure => {
  const state = sqlState(error)
  // A statement that takes too long does so for what it is about: others are not to wait for it.
  if (error.reason._tag === "StatementTimeoutError") return "refused"
  if (error.isRetryable || UNAVAILABLE_STATES.test(state)) return "unavailable"
  if (error.reason._tag === "AuthenticationError") return "unavailable"
  return VALUE_STATES.test(state) ? "values" : "refused"
}

/** Undefined when the cause has nothing to do with the database. */
export const databaseFailure = (cause: Cause.Cause<unknown>): DatabaseFailure | undefined => {
  const failures = sqlErrorsIn(cause).map(classify)
  if (failures.includes("unavailable")) return "unavailable"
  return failures[0]
}

export const DATABASE_AWAY = unavailable("The database cannot be reached.")

/**
 * At the border of the store: a database that is away becomes `SERVER_ERROR` with a time to try
 * again; every other SQL failure is a defect.
 */
export const orServerError = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError, R>
): Effect.Effect<A, Exclude<E, SqlError> | ServerError, R> =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, Exclude<E, SqlError> | ServerError> => {
    const failure = databaseFailure(cause)
    if (failure === undefined) return Effect.failCause(cause as Cause.Cause<Exclude<E, SqlError>>)
    if (failure === "unavailable") return Effect.fail(DATABASE_AWAY)
    return Effect.die(Cause.squash(cause))
  })
