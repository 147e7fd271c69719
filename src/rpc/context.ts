// What every procedure is given: who calls, and a way to run a domain program for them.
import { Cause, Effect, Exit } from "effect"
import type { Caller } from "../domain/authenticate.ts"
import type { LedgerError } from "../domain/errors.ts"
import type { LedgerServices } from "../domain/ledger.ts"
import { errorOfCause, toTRPCError } from "./errors.ts"

/** Runs a domain program; rejects with a TRPCError that carries the typed error. */
export type RunDomain = <A>(
  program: Effect.Effect<A, LedgerError, LedgerServices>,
  signal?: AbortSignal
) => Promise<A>

export interface RpcContext {
  readonly caller: Caller
  readonly idempotencyKey: string | undefined
  readonly run: RunDomain
  /** Aborted when the caller leaves. */
  readonly signal: AbortSignal | undefined
  readonly setHeader: (name: string, value: string) => void
}

const logDefects = (cause: Cause.Cause<LedgerError>) =>
  Cause.hasDies(cause) ? Effect.logError("A request failed unexpectedly", cause) : Effect.void

/** The services are captured once, so that no procedure reaches for a global. */
export const makeRunDomain: Effect.Effect<RunDomain, never, LedgerServices> = Effect.map(
  Effect.context<LedgerServices>(),
  (services): RunDomain => {
    const runPromiseExit = Effect.runPromiseExitWith(services)
    return async (program, signal) => {
      const exit = await runPromiseExit(
        Effect.tapCause(program, logDefects),
        signal === undefined ? undefined : { signal }
      )
      if (Exit.isSuccess(exit)) return exit.value
      throw toTRPCError(errorOfCause(exit.cause))
    }
  }
)
