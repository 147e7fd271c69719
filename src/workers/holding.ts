// What this replica holds claims on, between claiming a delivery and the end of its attempt. Used by
// deliveryWorkers.ts.
import { randomUUID } from "node:crypto"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { type ClaimedDelivery, LEASE_MILLISECONDS } from "../domain/deliveryHandoff.ts"
import { LedgerClock } from "../domain/ledgerClock.ts"
import { giveBack, renewClaims } from "../domain/store/deliveries.ts"

/** For all endpoints together: four times what may be under way. */
const HELD_IN_ALL = 4_096
/** What was held for longer is looked at again before it is sent: its endpoint may be gone. */
const FRESH_MILLISECONDS = 250

interface Held {
  readonly delivery: ClaimedDelivery
  /** In milliseconds of this process's monotonic clock. */
  readonly claimedAt: number
}

/**
 * What this replica holds a claim on. Renewed while it lives; given back when its scope closes, which
 * is after the attempts of the actors above have ended or been interrupted.
 */
export const makeHolding = Effect.gen(function* () {
  const services = yield* Effect.context<SqlClient.SqlClient | LedgerClock>()
  const held = new Map<string, Held>()
  const claims = () => Array.from(held.values(), ({ delivery }) => delivery)

  yield* Effect.addFinalizer(() =>
    giveBack(claims()).pipe(
      Effect.catchCause((cause) => Effect.logWarning("Deliveries could not be given back", cause)),
      Effect.provideContext(services)
    )
  )

  const { now } = yield* LedgerClock
  let renewedAt = yield* now

  const renew = Effect.gen(function* () {
    const asked = claims()
    const askedAt = yield* now
    if (asked.length === 0) {
      renewedAt = askedAt
      return
    }
    const kept = yield* renewClaims(asked, askedAt)
    renewedAt = askedAt
    for (const claim of asked) {
      if (!kept.has(claim.id) && held.get(claim.id)?.delivery === claim) held.delete(claim.id)
    }
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("Claims could not be renewed", cause)),
    Effect.provideContext(services)
  )

  /** After PostgreSQL was away: or this replica would take what it is sending for somebody else's. */
  const renewIfLate = Effect.flatMap(now, (time) =>
    time - renewedAt > LEASE_MILLISECONDS / 2 ? renew : Effect.void
  )

  return {
    replicaId: randomUUID() as string,
    renew,
    renewIfLate,
    /** How many more may be held: what is held is renewed every few seconds. */
    get room() {
      return Math.max(0, HELD_IN_ALL - held.size)
    },
    /** Half of what may be held is. */
    get isScarce() {
      return held.size >= HELD_IN_ALL / 2
    },
    has: ({ claimToken, id }: ClaimedDelivery) => held.get(id)?.delivery.claimToken === claimToken,
    /** Just claimed, and not to be looked at again before it is sent. */
    isFresh: ({ follows, id }: ClaimedDelivery) => {
      const claimedAt = held.get(id)?.claimedAt ?? 0
      return !follows && performance.now() - claimedAt <= FRESH_MILLISECONDS
    },
    add: (deliveries: ReadonlyArray<ClaimedDelivery>) => {
      const claimedAt = performance.now()
      for (const delivery of deliveries) held.set(delivery.id, { delivery, claimedAt })
    },
    drop: (id: string) => {
      held.delete(id)
    }
  }
})

export type Holding = Effect.Success<typeof makeHolding>
