// What commands print: tables and sentences for people, or one JSON value when --json is given.
// Nothing else is written to stdout.
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"
import { JsonFlag } from "./environment.ts"

/** Prints a command's answer in the form that was asked for. */
export const answer = Effect.fnUntraced(function* (fields: object, lines: ReadonlyArray<string>) {
  const asJson = yield* JsonFlag
  yield* Console.log(asJson ? JSON.stringify({ ok: true, ...fields }) : lines.join("\n"))
})

const GAP = "  "

/** Rows under their headings, in aligned columns. */
export const table = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => {
  const lines = [headings, ...rows]
  const widths = headings.map((_, column) =>
    Math.max(...lines.map((cells) => CliOutput.displayWidth(cells[column] ?? "")))
  )
  return lines.map((cells) =>
    cells
      .map((cell, column) => pad(cell, widths[column]))
      .join(GAP)
      .trimEnd()
  )
}

const pad = (cell: string, width = 0) =>
  cell + " ".repeat(Math.max(0, width - CliOutput.displayWidth(cell)))

/** Names and their values, one on a line. */
export const properties = (
  values: ReadonlyArray<readonly [string, string | number]>
): ReadonlyArray<string> => {
  const width = Math.max(...values.map(([name]) => name.length))
  return values.map(([name, value]) => `${name.padEnd(width)}${GAP}${value}`)
}

/** What a terminal could take for a command, or that hides or reorders what stands beside it. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu

/** Somebody else's text, safe for a terminal and on one line; cut when it is longer than `most`. */
export const printable = (text: string, most = Number.POSITIVE_INFINITY): string => {
  const characters = Array.from(text.replace(/\s+/g, " ").trim())
  const cut = characters.length > most ? "…" : ""
  return `${characters.slice(0, most).join("").replace(UNPRINTABLE, "\u{fffd}")}${cut}`
}

/** JSON over several lines. What is not printable stands only in its strings, and is escaped there. */
export const prettyJson = (json: string): string =>
  JSON.stringify(JSON.parse(json), null, 2)
    .split("\n")
    .map((line) => line.replace(UNPRINTABLE, escaped))
    .join("\n")

const escaped = (character: string) =>
  character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("")

/** A time as people read it, in UTC. */
export const readableTime = (iso: string | null): string =>
  iso === null ? "never" : `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`

export const SHOWN_ONCE = "It is shown this once: keep it now."
