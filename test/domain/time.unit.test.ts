// What counts as a time in `since` (D9): strict ISO 8601, and nothing that only a library accepts.
import { assert, describe, it } from "vitest"
import { parseIso, toIso } from "../../src/domain/time.ts"

const TIMES: ReadonlyArray<readonly [string, string]> = [
  ["2026-11-20", "2026-11-20T00:00:00.000Z"],
  ["2026-11-20T10:15:30.123Z", "2026-11-20T10:15:30.123Z"],
  ["2026-11-20T10:15:30Z", "2026-11-20T10:15:30.000Z"],
  ["2026-11-20T10:15Z", "2026-11-20T10:15:00.000Z"],
  ["2026-11-20T10:15:30.1Z", "2026-11-20T10:15:30.100Z"],
  ["2026-11-20T10:15:30.1239999Z", "2026-11-20T10:15:30.123Z"],
  ["2026-11-20T10:15:30+02:00", "2026-11-20T08:15:30.000Z"],
  ["2026-11-20T10:15:30-05:30", "2026-11-20T15:45:30.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"]
]

const NO_TIMES = [
  "",
  "now",
  "infinity",
  "yesterday",
  "1",
  "20260101",
  "2026-W47",
  "2026-02-30",
  "2026-13-01",
  "2026-11-20 10:15:30Z",
  "2026-11-20T10:15:30",
  "2026-11-20T10:15:30z",
  "2026-11-20t10:15:30Z",
  "2026-11-20T10:15:30,5Z",
  "2026-11-20T23:59:60Z",
  "2026-11-20T24:00:00Z",
  "2026-11-20T10:15:30+2:00",
  "2026-11-20T10:15:30+24:00",
  "+010000-01-01T00:00:00Z",
  " 2026-11-20",
  "2026-11-20\0"
]

describe("parseIso", () => {
  it.each(TIMES)("%s is %s", (text, time) => {
    const milliseconds = parseIso(text)
    assert.isDefined(milliseconds)
    assert.strictEqual(toIso(milliseconds), time)
  })

  it.each(NO_TIMES)("%j is no time", (text) => {
    assert.isUndefined(parseIso(text))
  })
})
