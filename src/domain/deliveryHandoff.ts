// Between the write path and the delivery workers: who on this replica may start sending at once what
// a batch has just written. The domain knows this interface; workers/ implement it.
import { Context, Layer } from "effect"

/** Where a delivery goes, and what signs it, as the endpoint was when it was claimed. */
export interface DeliveryTarget {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly previousSecret: { readonly secret: string; readonly until: number } | null
}

/** One delivery that is ready for its next attempt, and the claim under which this replica has it. */
export interface ClaimedDelivery {
  readonly workspaceId: string
  readonly id: string
  readonly endpoint: DeliveryTarget
  readonly eventId: string
  readonly commitmentId: string
  /** Ledger sequence of the move: first attempts of one commitment keep its order. */
  readonly seq: number
  /** Attempts that have ended; the next one has this number plus 1. */
  readonly attempts: number
  readonly payload: string
  readonly claimToken: string
  /**
   * When it was written, an earlier one of its commitment waited on this replica. That may have been given
   * back meanwhile, so whose turn it is, is to be looked up.
   */
  readonly follows: boolean
}

export class DeliveryHandoff extends Context.Service<
  DeliveryHandoff,
  {
    /** This replica, as the outbox names the holder of a claim. */
    readonly replicaId: string
    /** How many more deliveries to this endpoint may start soon, at the most. */
    readonly room: (endpointId: string) => number
    /** After COMMIT: sends these, and looks into the outbox when there is more than these. */
    readonly handOver: (deliveries: ReadonlyArray<ClaimedDelivery>, more: boolean) => void
  }
>()("workspace-ledger/domain/DeliveryHandoff") {
  /** For programs that write and do not send: everything stays in the outbox for a service. */
  static readonly layerNone = Layer.succeed(
    DeliveryHandoff,
    DeliveryHandoff.of({ replicaId: "none", room: () => 0, handOver: () => {} })
  )
}

/** How long a claim lasts unless it is renewed: a replica that died is taken over after this. */
export const LEASE_MILLISECONDS = 10_000
