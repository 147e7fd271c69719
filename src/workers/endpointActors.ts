// The endpoint actors: one fiber for each endpoint that has something to be sent. It starts what its
// queue allows, bounded for the endpoint and for all, and ends when there is nothing left. An endpoint
// that answers slowly fills its own places and nobody else's.
import { Effect, FiberSet, Latch, Semaphore } from "effect"
import type { ClaimedDelivery } from "../domain/deliveryHandoff.ts"
import { EndpointQueue, HELD_PER_ENDPOINT } from "./endpointQueue.ts"

/** Requests under way in all, on this replica. */
const IN_FLIGHT = 1_024
/** Of these, retries at the most: a storm of retries does not starve first attempts. */
const RETRIES_IN_FLIGHT = 512

interface EndpointActor {
  readonly queue: EndpointQueue
  readonly wake: Latch.Latch
}

export interface EndpointActors {
  readonly add: (delivery: ClaimedDelivery) => Effect.Effect<void>
  /** How many more first attempts for this endpoint may start soon. */
  readonly roomForFirst: (endpointId: string) => number
  /** How many more deliveries to this endpoint this replica should hold. */
  readonly room: (endpointId: string) => number
  /** Endpoints that have enough to do. */
  readonly busy: () => ReadonlyArray<string>
  /** Resolves when nothing is queued or under way. */
  readonly idle: Effect.Effect<void>
}

/** `attempt` makes one attempt to its end, its logging included. */
export const makeEndpointActors = Effect.fnUntraced(function* (
  attempt: (delivery: ClaimedDelivery) => Effect.Effect<void>
) {
  const fibers = yield* FiberSet.make()
  const actors = new Map<string, EndpointActor>()
  const places = yield* Semaphore.make(IN_FLIGHT)
  const retryPlaces = yield* Semaphore.make(RETRIES_IN_FLIGHT)

  const inPlace = (delivery: ClaimedDelivery) =>
    delivery.attempts === 0
      ? places.withPermit(attempt(delivery))
      : retryPlaces.withPermit(places.withPermit(attempt(delivery)))

  const start = ({ queue, wake }: EndpointActor, delivery: ClaimedDelivery) =>
    inPlace(delivery).pipe(
      Effect.ensuring(
        Effect.suspend(() => {
          queue.ended(delivery)
          return Latch.open(wake)
        })
      ),
      (sending) => FiberSet.run(fibers, sending)
    )

  const live = Effect.fnUntraced(function* (endpointId: string, actor: EndpointActor) {
    while (actor.queue.held > 0) {
      // Closed before looking, so that what arrives or ends meanwhile is not missed.
      yield* Latch.close(actor.wake)
      for (let next = actor.queue.next(); next !== undefined; next = actor.queue.next()) {
        yield* start(actor, next)
      }
      yield* Latch.await(actor.wake)
    }
    actors.delete(endpointId)
  })

  const add = Effect.fnUntraced(function* (delivery: ClaimedDelivery) {
    const { id } = delivery.endpoint
    const known = actors.get(id)
    if (known !== undefined) {
      known.queue.add(delivery)
      yield* Latch.open(known.wake)
      return
    }
    const actor: EndpointActor = { queue: new EndpointQueue(), wake: Latch.makeUnsafe() }
    actor.queue.add(delivery)
    actors.set(id, actor)
    yield* FiberSet.run(fibers, live(id, actor))
  })

  const actorsWithoutRoom = () =>
    Array.from(actors).flatMap(([id, { queue }]) => (queue.room === 0 ? [id] : []))

  return {
    add,
    roomForFirst: (endpointId) => actors.get(endpointId)?.queue.roomForFirst ?? HELD_PER_ENDPOINT,
    room: (endpointId) => actors.get(endpointId)?.queue.room ?? HELD_PER_ENDPOINT,
    busy: actorsWithoutRoom,
    idle: FiberSet.awaitEmpty(fibers)
  } satisfies EndpointActors
})
