// Delivery of webhooks: takes what the write path hands over, looks into the outbox for everything
// else, sends through the endpoint actors, keeps its claims alive, and gives back what it cannot end.
import { randomUUID } from "node:crypto"
import { Context, type Duration, Effect, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type ClaimedDelivery, DeliveryHandoff } from "../domain/deliveryHandoff.ts"
import { LedgerClock } from "../domain/ledgerClock.ts"
import { claimDue, giveBack, nextDueAt, renewClaims } from "../domain/store/deliveries.ts"
import { attemptDelivery } from "./attemptDelivery.ts"
import { makeCompletions } from "./completions.ts"
import { makeEndpointActors } from "./endpointActors.ts"
import { HELD_PER_ENDPOINT } from "./endpointQueue.ts"
import { retrySchedule } from "./retryPolicy.ts"
import type { WebhookSender } from "./sendWebhook.ts"

export interface DeliveryOptions {
  /** From the end of each failed attempt to the start of the next. */
  readonly retryDelays: ReadonlyArray<Duration.Duration>
}

const CLAIMED_AT_ONCE = 128
/** The backstop: work of other replicas, and leases that ended, are seen within this. */
const LOOK_INTERVAL_MILLISECONDS = 1_000
/** A fifth of the lease, so that a heartbeat that is lost costs nothing. */
const HEARTBEAT = "2 seconds"
/** «Running deliveries get» this «and are then given back.» */
const STOP_TIMEOUT = "3 seconds"

export class DeliveryWorkers extends Context.Service<
  DeliveryWorkers,
  {
    /** One look into the outbox: claims what is due and starts it. Answers how many that were. */
    readonly deliverDue: Effect.Effect<number>
    /** Resolves when everything that was started has ended and is logged. */
    readonly idle: Effect.Effect<void>
  }
>()("workspace-ledger/workers/DeliveryWorkers") {
  /** Without the loops: `deliverDue` is somebody else's to call. */
  static readonly layerPassive = (options: DeliveryOptions) =>
    Layer.effectContext(Effect.map(makeWorkers(options), ({ context }) => context))

  /** The workers as a service runs them. */
  static readonly layer = (options: DeliveryOptions) =>
    Layer.effectContext(
      Effect.gen(function* () {
        const workers = yield* makeWorkers(options)
        yield* Effect.forkScoped(Effect.forever(workers.lookAndWait))
        yield* Effect.forkScoped(Effect.forever(Effect.delay(workers.heartbeat, HEARTBEAT)))
        return workers.context
      })
    )
}

type WorkerServices = SqlClient.SqlClient | LedgerClock | WebhookSender

const makeWorkers = Effect.fnUntraced(function* (options: DeliveryOptions) {
  const services = yield* Effect.context<WorkerServices>()
  const holding = yield* makeHolding
  const complete = yield* makeCompletions
  const schedule = retrySchedule(options.retryDelays)
  const wake = Latch.makeUnsafe()
  const state = { stopping: false, backlog: false }

  const attempt = Effect.fnUntraced(function* (delivery: ClaimedDelivery) {
    // Not started when stopping: it is given back. Not sent when the claim was lost meanwhile.
    if (state.stopping || !holding.has(delivery)) return
    yield* complete(yield* attemptDelivery(delivery, schedule))
    holding.drop(delivery.id)
    if (state.backlog && actors.room(delivery.endpoint.id) >= HELD_PER_ENDPOINT / 2) {
      yield* Latch.open(wake)
    }
  }, Effect.provideContext(services))
  const actors = yield* makeEndpointActors(attempt)
  yield* Effect.addFinalizer(() => {
    state.stopping = true
    return actors.idle.pipe(Effect.timeoutOption(STOP_TIMEOUT))
  })

  const deliverDue = Effect.gen(function* () {
    const now = yield* (yield* LedgerClock).now
    const busyEndpoints = actors.busy()
    const { replicaId } = holding
    const claimed = yield* claimDue({ replicaId, now, most: CLAIMED_AT_ONCE, busyEndpoints })
    state.backlog = claimed.length > 0 || busyEndpoints.length > 0
    holding.add(claimed)
    yield* Effect.forEach(claimed, actors.add, { discard: true })
    return claimed.length
  }).pipe(Effect.provideContext(services))

  const lookAndWait = Effect.gen(function* () {
    // Closed before looking, so that what is handed over meanwhile is not missed.
    yield* Latch.close(wake)
    if ((yield* deliverDue) > 0) return
    const now = yield* (yield* LedgerClock).now
    const wait = ((yield* nextDueAt) ?? Number.POSITIVE_INFINITY) - now
    const pause = Math.min(LOOK_INTERVAL_MILLISECONDS, Math.max(wait, 10))
    yield* Effect.raceFirst(Latch.await(wake), Effect.sleep(pause))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning("The outbox could not be looked into", cause).pipe(
        Effect.andThen(Effect.sleep(LOOK_INTERVAL_MILLISECONDS))
      )
    ),
    Effect.provideContext(services)
  )

  const fork = Effect.runForkWith(services)
  const handOver = (deliveries: ReadonlyArray<ClaimedDelivery>, more: boolean) => {
    holding.add(deliveries)
    if (more) {
      state.backlog = true
      Latch.openUnsafe(wake)
    }
    fork(Effect.forEach(deliveries, actors.add, { discard: true }))
  }

  const context = Context.make(DeliveryWorkers, {
    deliverDue: Effect.orDie(deliverDue),
    idle: actors.idle
  }).pipe(
    Context.add(DeliveryHandoff, { replicaId: holding.replicaId, room: actors.room, handOver })
  )
  return { context, lookAndWait, heartbeat: holding.renew }
})

/**
 * What this replica holds a claim on. Renewed while it lives; given back when its scope closes, which
 * is after the attempts of the actors above have ended or been interrupted.
 */
const makeHolding = Effect.gen(function* () {
  const services = yield* Effect.context<SqlClient.SqlClient | LedgerClock>()
  const held = new Map<string, ClaimedDelivery>()

  yield* Effect.addFinalizer(() =>
    giveBack(Array.from(held.values())).pipe(
      Effect.catchCause((cause) => Effect.logWarning("Deliveries could not be given back", cause)),
      Effect.provideContext(services)
    )
  )

  const renew = Effect.gen(function* () {
    const claims = Array.from(held.values())
    if (claims.length === 0) return
    const kept = yield* renewClaims(claims, yield* (yield* LedgerClock).now)
    for (const claim of claims) {
      if (!kept.has(claim.id) && held.get(claim.id) === claim) held.delete(claim.id)
    }
  }).pipe(
    Effect.catchCause((cause) => Effect.logWarning("Claims could not be renewed", cause)),
    Effect.provideContext(services)
  )

  return {
    replicaId: randomUUID() as string,
    renew,
    has: (delivery: ClaimedDelivery) => held.get(delivery.id)?.claimToken === delivery.claimToken,
    add: (deliveries: ReadonlyArray<ClaimedDelivery>) => {
      for (const delivery of deliveries) held.set(delivery.id, delivery)
    },
    drop: (id: string) => {
      held.delete(id)
    }
  }
})
