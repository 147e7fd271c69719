// Time as the ledger writes it: milliseconds since the epoch inside, ISO 8601 in UTC outside.
import { DateTime } from "effect"

export const toIso = (milliseconds: number): string =>
  DateTime.formatIso(DateTime.makeUnsafe(milliseconds))

export const toIsoOrNull = (milliseconds: number | null): string | null =>
  milliseconds === null ? null : toIso(milliseconds)

const DATE = String.raw`(\d{4})-(\d{2})-(\d{2})`
const TIME = String.raw`(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?`
const ZONE = String.raw`(Z|[+-]\d{2}:\d{2})`
const ISO = new RegExp(`^${DATE}(?:T${TIME}${ZONE})?$`)

/**
 * A strict ISO 8601 date or date-time with zone as milliseconds since the epoch, or undefined. A
 * date alone is its midnight in UTC. A fraction finer than a millisecond is cut, as stored times
 * are: `since` just after a stored time still means that time.
 */
export const parseIso = (text: string): number | undefined => {
  const parts = ISO.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = ""] = parts
  const wallClock = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, "0").slice(0, 3)}Z`
  const milliseconds = Date.parse(wallClock)
  // Date.parse moves 30 February to March; a date that does not read back the same is none.
  if (Number.isNaN(milliseconds) || toIso(milliseconds) !== wallClock) return undefined
  const offset = zoneOffsetMinutes(parts[8] ?? "Z")
  return offset === undefined ? undefined : milliseconds - offset * 60_000
}

const zoneOffsetMinutes = (zone: string): number | undefined => {
  if (zone === "Z") return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(4, 6))
  if (hours > 23 || minutes > 59) return undefined
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes)
}
