// When the outbox is to be looked into again, beside the look that comes every second anyway. Plain
// data; deliveryWorkers.ts drives it.
import { type Effect, Latch } from "effect"

export class Outlook {
  /** Nothing is started any more. */
  stopping = false
  /** The last look took nothing, or not all, because this replica held enough. */
  isFull = false
  /** Endpoints that had enough to do at the last look, which so took nothing for them. */
  #wereBusy = new Set<string>()
  readonly #wake = Latch.makeUnsafe()

  /** Called before a look, so that what happens meanwhile is not missed. */
  begin(busyEndpoints: ReadonlyArray<string>): void {
    Latch.closeUnsafe(this.#wake)
    this.#wereBusy = new Set(busyEndpoints)
  }

  wasBusy(endpointId: string): boolean {
    return this.#wereBusy.has(endpointId)
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
