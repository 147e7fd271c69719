// Identifiers: TypeIDs, that is a prefix, `_` and 26 lowercase base32 characters of a UUIDv7. They
// are made in the application, so that a batch knows its ids before it is written.
import { Context, Layer } from "effect"
import { TypeID } from "typeid-js"
import { v7 } from "uuid"

export type IdPrefix = "cmt" | "mem" | "op" | "whk" | "tok" | "evt" | "dlv"

export class Ids extends Context.Service<
  Ids,
  {
    /** A new id that sorts by `now` (milliseconds since the epoch). */
    readonly next: (prefix: IdPrefix, now: number) => string
    /** A new workspace id: «UUID string». */
    readonly nextWorkspace: (now: number) => string
  }
>()("workspace-ledger/domain/Ids") {
  static readonly layer = Layer.sync(Ids, () =>
    Ids.of({
      next: (prefix, now) =>
        TypeID.fromUUIDBytes(prefix, v7({ msecs: now }, new Uint8Array(16))).toString(),
      nextWorkspace: (now) => v7({ msecs: now })
    })
  )
}

/** Sorts before every id that was made at `time` (milliseconds since the epoch) or later. */
export const lowestId = (prefix: IdPrefix, time: number): string => {
  const uuid = v7(
    { msecs: Math.max(0, time), seq: 0, random: new Uint8Array(16) },
    new Uint8Array(16)
  )
  return TypeID.fromUUIDBytes(prefix, uuid).toString()
}

const isIdWith = (prefix: string) => {
  const pattern = new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`)
  return (id: string) => pattern.test(id)
}

export const isCommitmentId = isIdWith("cmt")
export const isMemoryId = isIdWith("mem")
export const isTokenId = isIdWith("tok")
export const isWebhookId = isIdWith("whk")
export const isDeliveryId = isIdWith("dlv")

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** The canonical (lower-case) form of a UUID, or undefined when the text is none. */
export const canonicalUuid = (text: string): string | undefined =>
  UUID.test(text) ? text.toLowerCase() : undefined
