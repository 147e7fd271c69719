// How many requests are under way at once on this replica, whoever they are for, and who waits for one
// of these places. Plain data; endpointActors.ts drives it.

/** Requests under way in all, on this replica. */
export const IN_FLIGHT = 1_024
/** Of these, retries at the most: a storm of retries does not starve first attempts. */
export const RETRIES_IN_FLIGHT = 512

type Kind = "first" | "retry"
type Wake = () => void

export class Places {
  readonly #taken = { first: 0, retry: 0 }
  /** In the order in which they came. */
  readonly #waiting = { first: new Set<Wake>(), retry: new Set<Wake>() }

  /** Takes a place, or answers false: then `wake` is called when it is worth another try. */
  take(kind: Kind, wake: Wake): boolean {
    if (!this.#isFree(kind)) {
      this.#waiting[kind].add(wake)
      return false
    }
    this.#taken[kind] += 1
    return true
  }

  leave(kind: Kind): void {
    this.#taken[kind] -= 1
    this.wakeNext()
  }

  /**
   * Wakes who has waited longest, first attempts before retries. Called also by one who was woken and
   * needed no place after all.
   */
  wakeNext(): void {
    for (const kind of ["first", "retry"] as const) {
      const [next] = this.#waiting[kind]
      if (next === undefined || !this.#isFree(kind)) continue
      this.#waiting[kind].delete(next)
      next()
      return
    }
  }

  /** Half of them are taken. */
  get isScarce(): boolean {
    return this.#taken.first + this.#taken.retry >= IN_FLIGHT / 2
  }

  #isFree(kind: Kind): boolean {
    const { first, retry } = this.#taken
    return first + retry < IN_FLIGHT && (kind === "first" || retry < RETRIES_IN_FLIGHT)
  }
}
