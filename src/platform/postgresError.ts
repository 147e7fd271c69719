// The one error of the embedded PostgreSQL, and the helper that turns a failed system call into it.
// Used by every postgres*.ts file of this folder; callers see it through embeddedPostgres.ts.
import { Data, Effect } from "effect"

/**
 * Why the embedded PostgreSQL cannot be used; `message` says what a user can do about it.
 *
 * - `InUse`: another service holds the cluster, and it stays untouched.
 * - `Unsupported`: this machine or this user cannot run it at all; an own PostgreSQL can be named.
 * - `Exited`, `NotReady`: passing states while a cluster starts or stops; they are retried.
 * - `Failed`: anything else.
 */
export class PostgresError extends Data.TaggedError("PostgresError")<{
  readonly reason: "InUse" | "Unsupported" | "Exited" | "NotReady" | "Failed"
  readonly message: string
  readonly cause?: unknown
}> {}

/** How a user gets along without the embedded PostgreSQL; ends the messages of `unsupported`. */
const DATABASE_URL_HINT = "Set DATABASE_URL to use a PostgreSQL (15 or newer) of your own."

/** The error for a machine on which the embedded PostgreSQL cannot run. */
export const unsupported = (problem: string, cause?: unknown): PostgresError =>
  new PostgresError({ reason: "Unsupported", message: `${problem} ${DATABASE_URL_HINT}`, cause })

/** Runs a synchronous system call; its failure becomes a `PostgresError` that begins with `action`. */
export const attempt = <A>(action: string, evaluate: () => A): Effect.Effect<A, PostgresError> =>
  Effect.try({
    try: evaluate,
    catch: (cause) =>
      new PostgresError({ reason: "Failed", message: `${action}: ${textOf(cause)}`, cause })
  })

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
