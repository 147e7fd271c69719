// How much of request bodies is held in memory, by all requests together. A body takes room before it
// is kept, and gives it back when it has been read or nobody will read it.

/** Bytes of all bodies that are being read: several of the largest that LEDGER_MAX_BODY allows. */
const ROOM_BYTES = 64 * 1024 * 1024

/** Only small bodies may take the last of the room: large ones do not keep them out. */
const KEPT_FOR_SMALL_BYTES = 16 * 1024 * 1024

/** The largest body that counts as small. */
const SMALL_BYTES = 64 * 1024

/** The room of one body. */
export interface Place {
  /** Takes room for a body of so many bytes in all; false when there is none, and nothing has changed. */
  readonly reserve: (bytes: number) => boolean
  /** Gives all of it back, for good. */
  readonly leave: () => void
}

/** The room of one server. Answers the way to a place in it. */
export const makeBodyRoom = (): (() => Place) => {
  let taken = 0
  return () => {
    let own = 0
    let left = false
    return {
      reserve: (bytes) => {
        if (left) return false
        if (bytes <= own) return true
        const free = ROOM_BYTES - taken - (bytes > SMALL_BYTES ? KEPT_FOR_SMALL_BYTES : 0)
        if (bytes - own > free) return false
        taken += bytes - own
        own = bytes
        return true
      },
      leave: () => {
        taken -= own
        own = 0
        left = true
      }
    }
  }
}
