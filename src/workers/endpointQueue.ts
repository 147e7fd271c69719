// What one endpoint has to be sent by this replica, and in which order: first attempts before
// retries, the first attempts for one commitment one after another. Plain data; endpointActors.ts
// drives it.
import type { ClaimedDelivery } from "../domain/deliveryHandoff.ts"

/** Requests to one endpoint that may be under way at once, on this replica. */
export const IN_FLIGHT_PER_ENDPOINT = 4
/** Deliveries that this replica holds for one endpoint at the most: what may start soon. */
export const HELD_PER_ENDPOINT = 32

export class EndpointQueue {
  readonly #first: Array<ClaimedDelivery> = []
  readonly #retries: Array<ClaimedDelivery> = []
  /** Commitments whose first attempt is under way. */
  readonly #busy = new Set<string>()
  #inFlight = 0

  add(delivery: ClaimedDelivery): void {
    if (delivery.attempts > 0) this.#retries.push(delivery)
    else this.#first.push(delivery)
  }

  /** Takes what is to be sent next, or answers undefined when nothing may start now. */
  next(): ClaimedDelivery | undefined {
    if (this.#inFlight >= IN_FLIGHT_PER_ENDPOINT) return undefined
    const index = this.#first.findIndex((delivery) => !this.#busy.has(delivery.commitmentId))
    const [delivery] = index === -1 ? this.#retries.splice(0, 1) : this.#first.splice(index, 1)
    if (delivery === undefined) return undefined
    if (delivery.attempts === 0) this.#busy.add(delivery.commitmentId)
    this.#inFlight += 1
    return delivery
  }

  /** The attempt that `next` gave out has ended. */
  ended(delivery: ClaimedDelivery): void {
    if (delivery.attempts === 0) this.#busy.delete(delivery.commitmentId)
    this.#inFlight -= 1
  }

  get held(): number {
    return this.#first.length + this.#retries.length + this.#inFlight
  }

  get room(): number {
    return Math.max(0, HELD_PER_ENDPOINT - this.held)
  }

  /** Retries that wait do not count: a first attempt goes before them. */
  get roomForFirst(): number {
    return Math.max(0, HELD_PER_ENDPOINT - this.#first.length - this.#inFlight)
  }
}
