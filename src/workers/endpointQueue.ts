// What one endpoint has to be sent by this replica, and in which order: first attempts before
// retries, the first attempts for one commitment one after another. Plain data; endpointActors.ts
// drives it.
import type { ClaimedDelivery } from "../domain/deliveryHandoff.ts"

/** Requests to one endpoint that may be under way at once, on this replica. */
export const IN_FLIGHT_PER_ENDPOINT = 4
/**
 * Answered requests to one endpoint whose attempts need not be logged yet for the next to start. What
 * is not logged when a replica is killed is sent again.
 */
export const UNLOGGED_PER_ENDPOINT = 16
/** Deliveries that this replica holds for one endpoint at the most: what may start soon. */
export const HELD_PER_ENDPOINT = 64
/**
 * Both for an endpoint that let its last request time out, until it answers one in time: it shall not
 * fill the places of all, and what it keeps waiting is not worth holding. Also for one that has not
 * answered yet, while there is little left for all: many that hang are only known by their timeouts.
 */
export const IN_FLIGHT_AFTER_TIMEOUT = 1
export const HELD_AFTER_TIMEOUT = 4
/** One look into the outbox takes so many for one endpoint at the most, when there is room for them. */
export const TAKEN_AT_ONCE = 32

export class EndpointQueue {
  readonly #first: Array<ClaimedDelivery> = []
  readonly #retries: Array<ClaimedDelivery> = []
  /** Commitments whose first attempt is under way, or not logged yet. */
  readonly #busy = new Set<string>()
  #inFlight = 0
  #unlogged = 0
  /** Whether the last request timed out; undefined before the first answer. */
  #hangs: boolean | undefined
  readonly #isScarce: () => boolean

  /** `isScarce`: this replica holds, or has under way, so much that there is little left for all. */
  constructor(isScarce: () => boolean = () => false) {
    this.#isScarce = isScarce
  }

  add(delivery: ClaimedDelivery): void {
    if (delivery.attempts > 0) this.#retries.push(delivery)
    else this.#first.push(delivery)
  }

  /**
   * Takes what is to be sent next, or answers undefined when nothing may start now. `take` is asked
   * for a place among the requests of all endpoints.
   */
  next(take: (delivery: ClaimedDelivery) => boolean = () => true): ClaimedDelivery | undefined {
    const most = this.#isKeptShort ? IN_FLIGHT_AFTER_TIMEOUT : IN_FLIGHT_PER_ENDPOINT
    if (this.#inFlight >= most) return undefined
    if (this.#unlogged >= UNLOGGED_PER_ENDPOINT) return undefined
    const first = this.#first.findIndex((delivery) => !this.#busy.has(delivery.commitmentId))
    const [waiting, index] = first === -1 ? [this.#retries, 0] : [this.#first, first]
    const delivery = waiting[index]
    if (delivery === undefined || !take(delivery)) return undefined
    waiting.splice(index, 1)
    if (delivery.attempts === 0) this.#busy.add(delivery.commitmentId)
    this.#inFlight += 1
    return delivery
  }

  /**
   * The request that `next` gave out is over, however it ended; its attempt is not logged yet. Undefined:
   * there was no request after all.
   */
  answered(isTimeout: boolean | undefined): void {
    this.#inFlight -= 1
    this.#unlogged += 1
    if (isTimeout !== undefined) this.#hangs = isTimeout
  }

  /** The attempt of the answered request is logged: the next one for its commitment may start. */
  ended(delivery: ClaimedDelivery): void {
    if (delivery.attempts === 0) this.#busy.delete(delivery.commitmentId)
    this.#unlogged -= 1
  }

  get isEmpty(): boolean {
    return this.#first.length + this.#retries.length + this.#inFlight + this.#unlogged === 0
  }

  /** Takes out what waits and is more than should be held: the last of it. */
  shed(): ReadonlyArray<ClaimedDelivery> {
    const kept = Math.max(0, this.#mayHold - this.#inFlight)
    const retries = this.#retries.splice(Math.max(0, kept - this.#first.length))
    return [...this.#first.splice(kept), ...retries]
  }

  get room(): number {
    const held = this.#first.length + this.#retries.length + this.#inFlight
    return Math.max(0, this.#mayHold - held)
  }

  /** Retries that wait do not count: a first attempt goes before them. */
  get roomForFirst(): number {
    return Math.max(0, this.#mayHold - this.#first.length - this.#inFlight)
  }

  get #mayHold(): number {
    return this.#isKeptShort ? HELD_AFTER_TIMEOUT : HELD_PER_ENDPOINT
  }

  get #isKeptShort(): boolean {
    return this.#hangs ?? this.#isScarce()
  }
}
