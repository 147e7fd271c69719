// The domain as one layer: what a program needs besides a database to run it.
import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Authenticator } from "./authenticate.ts"
import * as Housekeeping from "./housekeeping.ts"
import { Ids } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { WorkspaceActors } from "./workspaceActor.ts"

/** Everything that a domain program may ask for. */
export type LedgerServices =
  | SqlClient.SqlClient
  | Ids
  | LedgerClock
  | Authenticator
  | WorkspaceActors

export const layer = Layer.mergeAll(
  WorkspaceActors.layer,
  Authenticator.layer,
  Housekeeping.layer
).pipe(Layer.provideMerge(Layer.mergeAll(Ids.layer, LedgerClock.layer)))
