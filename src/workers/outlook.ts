// When the outbox is to be looked into again, beside the look that comes every second anyway. Plain
// data; deliveryWorkers.ts drives it.
import { type Effect, Latch } from "effect"
import type { ClaimedDelivery } from "../domain/deliveryHandoff.ts"

export class Outlook {
  /** Nothing is started any more. */
  stopping = false
  /** The last look took nothing, or not all, because this replica held enough. */
  isFull = false
  /** Endpoints that had enough to do at the last look, which so took nothing for them. */
  #wereBusy = new Set<string>()
  readonly #taken = new WeakSet<ClaimedDelivery>()
  readonly #wake = Latch.makeUnsafe()

  /** Called before a look, so that what happens meanwhile is not missed. */
  begin(busyEndpoints: ReadonlyArray<string>): void {
    Latch.closeUnsafe(this.#wake)
    this.#wereBusy = new Set(busyEndpoints)
  }

  wasBusy(endpointId: string): boolean {
    return this.#wereBusy.has(endpointId)
  }

  /** What a look has claimed. */
  took(deliveries: ReadonlyArray<ClaimedDelivery>): void {
    for (const delivery of deliveries) this.#taken.add(delivery)
  }

  /** Whether another of its commitment may wait in the outbox for its end: a look takes one at a time. */
  mayBeFollowed(delivery: ClaimedDelivery): boolean {
    return delivery.attempts === 0 && this.#taken.has(delivery)
  }

  again(): void {
    // Until that look nobody else need ask for one.
    this.isFull = false
    this.#wereBusy.clear()
    Latch.openUnsafe(this.#wake)
  }

  /** Resolves when somebody has asked for a look since the last one began. */
  readonly asked: Effect.Effect<void> = Latch.await(this.#wake)
}
