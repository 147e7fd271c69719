// The endpoint actors: one fiber for each endpoint that has something to be sent. It starts what its
// queue allows, bounded for the endpoint and for all, and ends when there is nothing left. An endpoint
// that answers slowly fills its own places and nobody else's.
import { Effect, FiberSet, Latch } from "effect"
import type { ClaimedDelivery } from "../domain/deliveryHandoff.ts"
import { EndpointQueue, HELD_AFTER_TIMEOUT, TAKEN_AT_ONCE } from "./endpointQueue.ts"
import { Places } from "./places.ts"

export interface EndpointActors {
  readonly add: (deliveries: ReadonlyArray<ClaimedDelivery>) => void
  /** How many more first attempts for this endpoint may start soon. */
  readonly roomForFirst: (endpointId: string) => number
  /** How many a look into the outbox takes for one endpoint at the most. */
  readonly takenAtOnce: () => number
  /** Whether a look into the outbox may take more for this endpoint. */
  readonly hasRoom: (endpointId: string) => boolean
  /** Endpoints that have enough to do: a look takes nothing for them. */
  readonly busy: () => ReadonlyArray<string>
  /** Resolves when nothing is queued or under way. */
  readonly idle: Effect.Effect<void>
}

/** What the actors leave to the workers. */
export interface EndpointWork<R> {
  /**
   * Makes one attempt to its end, its logging included. It says when it has been answered: from then
   * on its place is free for another one.
   */
  readonly attempt: (
    delivery: ClaimedDelivery,
    answered: (isTimeout: boolean) => void
  ) => Effect.Effect<void, never, R>
  /** Whether so much is held that an endpoint which has not answered yet gets only a little. */
  readonly isScarce: () => boolean
  /** Gives back what need not be held: it stays due. */
  readonly giveBack: (deliveries: ReadonlyArray<ClaimedDelivery>) => Effect.Effect<void, never, R>
}

class EndpointActor {
  readonly queue: EndpointQueue
  /** Opened when something arrived or ended, or a place is free. */
  readonly #awake = Latch.makeUnsafe()
  constructor(isScarce: () => boolean) {
    this.queue = new EndpointQueue(isScarce)
  }
  readonly wake = () => {
    Latch.openUnsafe(this.#awake)
  }
  readonly sleep = () => {
    Latch.closeUnsafe(this.#awake)
  }
  readonly untilAwake = Latch.await(this.#awake)
}

export const makeEndpointActors = Effect.fnUntraced(function* <R>({
  attempt,
  giveBack,
  isScarce
}: EndpointWork<R>) {
  const fibers = yield* FiberSet.make()
  const run = yield* FiberSet.runtime(fibers)<R>()
  const actors = new Map<string, EndpointActor>()
  const places = new Places()
  const isScarceHere = () => places.isScarce || isScarce()
  /** That of an endpoint for which there is no actor. */
  const emptyQueue = new EndpointQueue(isScarceHere)

  const start = ({ queue, wake }: EndpointActor, delivery: ClaimedDelivery) => {
    let isAnswered = false
    const answered = (isTimeout: boolean | undefined) => {
      isAnswered = true
      queue.answered(isTimeout)
      places.leave(kindOf(delivery))
      const shed = queue.shed()
      if (shed.length > 0) run(giveBack(shed))
      wake()
    }
    const ended = Effect.sync(() => {
      if (!isAnswered) answered(undefined)
      queue.ended(delivery)
      wake()
    })
    run(Effect.ensuring(attempt(delivery, answered), ended))
  }

  const live = Effect.fnUntraced(function* (endpointId: string, actor: EndpointActor) {
    const { queue, wake } = actor
    const takePlace = (delivery: ClaimedDelivery) => places.take(kindOf(delivery), wake)
    while (!queue.isEmpty) {
      // Asleep before looking, so that what arrives or ends meanwhile is not missed.
      actor.sleep()
      for (let next = queue.next(takePlace); next !== undefined; next = queue.next(takePlace)) {
        start(actor, next)
      }
      // A place that this one was woken for and has not used is somebody else's.
      places.wakeNext()
      yield* actor.untilAwake
    }
    actors.delete(endpointId)
  })

  const add = (delivery: ClaimedDelivery) => {
    const { id } = delivery.endpoint
    const known = actors.get(id)
    const actor = known ?? new EndpointActor(isScarceHere)
    actor.queue.add(delivery)
    if (known !== undefined) return known.wake()
    actors.set(id, actor)
    run(live(id, actor))
  }

  const hasRoom = ({ queue }: EndpointActor) => queue.room >= TAKEN_AT_ONCE

  return {
    add: (deliveries) => deliveries.forEach(add),
    roomForFirst: (endpointId) => (actors.get(endpointId)?.queue ?? emptyQueue).roomForFirst,
    takenAtOnce: () => (isScarceHere() ? HELD_AFTER_TIMEOUT : TAKEN_AT_ONCE),
    hasRoom: (endpointId) => {
      const actor = actors.get(endpointId)
      return actor === undefined || hasRoom(actor)
    },
    busy: () => Array.from(actors).flatMap(([id, actor]) => (hasRoom(actor) ? [] : [id])),
    idle: FiberSet.awaitEmpty(fibers)
  } satisfies EndpointActors
})

const kindOf = ({ attempts }: ClaimedDelivery) => (attempts === 0 ? "first" : "retry")
