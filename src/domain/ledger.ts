// The domain as one layer: what a program needs besides a database to run it.
import { Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { Authenticator } from "./authenticate.ts"
import { DeliveryHandoff } from "./deliveryHandoff.ts"
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

/** With somebody to hand callbacks over to. */
export const layerWith = <Provided, E, R>(handoff: Layer.Layer<Provided | DeliveryHandoff, E, R>) =>
  Layer.mergeAll(WorkspaceActors.layer, Authenticator.layer).pipe(
    Layer.provideMerge(handoff),
    Layer.provideMerge(Layer.mergeAll(Ids.layer, LedgerClock.layer))
  )

/** For programs that write and do not send: callbacks wait in the outbox for a service. */
export const layer = layerWith(DeliveryHandoff.layerNone)
