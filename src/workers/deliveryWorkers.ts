// Delivery of webhooks: takes what the write path hands over, looks into the outbox for everything
// else, sends through the endpoint actors, keeps its claims alive, and gives back what it cannot end.
import { Context, type Duration, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { type ClaimedDelivery, DeliveryHandoff } from "../domain/deliveryHandoff.ts"
import { LedgerClock } from "../domain/ledgerClock.ts"
import {
  claimDue,
  type EndedAttempt,
  giveBack,
  nextDueAfter,
  refreshClaim
} from "../domain/store/deliveries.ts"
import { attemptDelivery } from "./attemptDelivery.ts"
import { makeCompletions } from "./completions.ts"
import { recordAttempt } from "./deliveryMetrics.ts"
import { type EndpointActors, makeEndpointActors } from "./endpointActors.ts"
import { type Holding, makeHolding } from "./holding.ts"
import { Outlook } from "./outlook.ts"
import { retrySchedule } from "./retryPolicy.ts"
import type { WebhookSender } from "./sendWebhook.ts"

export interface DeliveryOptions {
  /** From the end of each failed attempt to the start of the next. */
  readonly retryDelays: ReadonlyArray<Duration.Duration>
}

const CLAIMED_AT_ONCE = 512
/** The backstop: work of other replicas, and leases that ended, are seen within this. */
const LOOK_INTERVAL_MILLISECONDS = 1_000
/** A fifth of the lease, so that a heartbeat that is lost costs nothing. */
const HEARTBEAT = "2 seconds"
/** «Running deliveries get» this «and are then given back.» */
const STOP_TIMEOUT = "5 seconds"

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
  const outlook = new Outlook()
  const attempt = yield* makeAttempt(options, holding, outlook)
  const actors: EndpointActors = yield* makeEndpointActors({
    attempt: (delivery, answered) =>
      attempt(delivery, (isTimeout) => {
        answered(isTimeout)
        const { id } = delivery.endpoint
        // What it had no room for at the last look is still in the outbox.
        if (outlook.wasBusy(id) && actors.hasRoom(id)) outlook.again()
      }),
    isScarce: () => holding.isScarce,
    giveBack: (deliveries) => {
      for (const { id } of deliveries) holding.drop(id)
      // What cannot be given back now is free when its lease has ended.
      return Effect.ignore(giveBack(deliveries), { log: "Warn" })
    }
  })
  yield* Effect.addFinalizer(() => {
    outlook.stopping = true
    return actors.idle.pipe(Effect.timeoutOption(STOP_TIMEOUT))
  })

  const deliverDue = lookIntoOutbox(holding, outlook, actors).pipe(Effect.provideContext(services))
  const lookAndWait = look(deliverDue, outlook).pipe(Effect.provideContext(services))

  const handOver = (deliveries: ReadonlyArray<ClaimedDelivery>, more: boolean) => {
    holding.add(deliveries)
    actors.add(deliveries)
    if (more) outlook.again()
  }

  const context = Context.make(DeliveryWorkers, {
    deliverDue: Effect.orDie(deliverDue),
    idle: actors.idle
  }).pipe(
    Context.add(DeliveryHandoff, {
      replicaId: holding.replicaId,
      room: (endpointId) => (holding.room > 0 ? actors.roomForFirst(endpointId) : 0),
      handOver
    })
  )
  return { context, lookAndWait, heartbeat: holding.renew }
})

/** One attempt to its end, its logging included. */
const makeAttempt = Effect.fnUntraced(function* (
  options: DeliveryOptions,
  holding: Holding,
  outlook: Outlook
) {
  const complete = yield* makeCompletions
  const schedule = retrySchedule(options.retryDelays)
  return Effect.fnUntraced(
    function* (delivery: ClaimedDelivery, answered: (isTimeout: boolean) => void) {
      // Not started when stopping: it is given back. Not sent when the claim was lost meanwhile.
      if (outlook.stopping || !holding.has(delivery)) return
      const current = holding.isFresh(delivery) ? delivery : yield* refreshClaim(delivery)
      if (current === undefined) yield* giveBack([delivery])
      else {
        const ended = yield* attemptDelivery(current, schedule)
        answered(ended.failure === "timeout")
        const { isFollowed } = yield* complete(ended)
        yield* recordAttempt(ended)
        if (isFollowed || isDueSoon(ended)) outlook.again()
      }
      holding.drop(delivery.id)
      if (outlook.isFull && holding.room >= CLAIMED_AT_ONCE) outlook.again()
    },
    Effect.orDie,
    (sending, delivery) =>
      Effect.catchDefect(sending, (defect) => {
        // Its claim is not renewed any more, so that somebody makes the attempt again.
        holding.drop(delivery.id)
        return Effect.logError("An attempt ended unexpectedly", defect)
      })
  )
})

/** Whether it is to be tried again before the look that comes anyway. */
const isDueSoon = ({ delayMillis }: EndedAttempt) =>
  delayMillis !== undefined && delayMillis < LOOK_INTERVAL_MILLISECONDS

const lookIntoOutbox = Effect.fnUntraced(function* (
  holding: Holding,
  outlook: Outlook,
  actors: EndpointActors
) {
  const busyEndpoints = actors.busy()
  outlook.begin(busyEndpoints)
  outlook.isFull = holding.room < CLAIMED_AT_ONCE
  if (holding.room === 0) return 0
  yield* holding.renewIfLate
  const claim = claimDue({
    replicaId: holding.replicaId,
    now: yield* (yield* LedgerClock).now,
    most: Math.min(CLAIMED_AT_ONCE, holding.room),
    perEndpoint: actors.takenAtOnce(),
    busyEndpoints
  })
  // What is claimed is held, or it could not be given back by a service that is stopping.
  const claimed = yield* Effect.uninterruptible(
    Effect.tap(claim, (deliveries) => Effect.sync(() => holding.add(deliveries)))
  )
  actors.add(claimed)
  return claimed.length
})

/** Looks, and when nothing was due waits until something is, or is handed over, or a while. */
const look = <E>(deliverDue: Effect.Effect<number, E>, outlook: Outlook) =>
  Effect.gen(function* () {
    const clock = yield* LedgerClock
    const lookedAt = yield* clock.now
    if ((yield* deliverDue) > 0) return
    const next = (yield* nextDueAfter(lookedAt)) ?? Number.POSITIVE_INFINITY
    const wait = next - (yield* clock.now)
    const pause = Math.min(LOOK_INTERVAL_MILLISECONDS, Math.max(wait, 10))
    yield* Effect.raceFirst(outlook.asked, Effect.sleep(pause))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning("The outbox could not be looked into", cause).pipe(
        Effect.andThen(Effect.sleep(LOOK_INTERVAL_MILLISECONDS))
      )
    )
  )
