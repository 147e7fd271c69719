// The domain without its doors, on a database of its own: for tests of what is done in the program
// rather than over HTTP.
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Logger, ManagedRuntime, Redacted } from "effect"
import type { LedgerError } from "../../src/domain/errors.ts"
import * as Ledger from "../../src/domain/ledger.ts"
import { performOperation } from "../../src/domain/performOperation.ts"
import { createWorkspace } from "../../src/domain/settings.ts"
import { createDatabase, type TestDatabase } from "./postgres.ts"

export interface TestLedger extends AsyncDisposable {
  readonly database: TestDatabase
  readonly run: <A, E>(program: Effect.Effect<A, E, Ledger.LedgerServices>) => Promise<A>
  /** A new workspace; answers its id. */
  readonly workspace: (name?: string) => Promise<string>
  /** Performs the operations at once, so that they share batches; answers ids, undefined for refused. */
  readonly perform: (
    workspaceId: string,
    operations: ReadonlyArray<object>
  ) => Promise<ReadonlyArray<string | undefined>>
}

export const openLedger = async (): Promise<TestLedger> => {
  const database = await createDatabase()
  const runtime = ManagedRuntime.make(
    Ledger.layer.pipe(
      Layer.provideMerge(PgClient.layer({ url: Redacted.make(database.url), maxConnections: 4 })),
      Layer.provide(Logger.layer([]))
    )
  )
  const perform = (workspaceId: string, operations: ReadonlyArray<object>) =>
    runtime.runPromise(
      Effect.forEach(operations, (operation) => performOne(workspaceId, operation), {
        concurrency: "unbounded"
      })
    )
  return {
    database,
    run: (program) => runtime.runPromise(program),
    workspace: async (name = "test") =>
      (await runtime.runPromise(createWorkspace(name))).workspace.id,
    perform,
    [Symbol.asyncDispose]: async () => {
      await runtime.dispose()
      await database.drop()
    }
  }
}

/** A refusal by the rules is an answer; anything else fails the test. */
const performOne = (workspaceId: string, operation: object) =>
  performOperation(
    { workspaceId, tokenId: "test", actor: "agent:test", role: "member" },
    operation,
    undefined
  ).pipe(
    Effect.map((receipt): string | undefined => receipt.record_id),
    Effect.catch((error: LedgerError) =>
      error._tag === "VALIDATION_ERROR" ? Effect.succeed(undefined) : Effect.die(error)
    )
  )
