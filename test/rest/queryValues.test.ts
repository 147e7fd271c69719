// Query parameters whose values are wrong (D9): 400 with the parameter's name, never a 5xx; and those
// that look odd and are fine.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { assertRefused } from "./expectations.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
  await service.record({ op: "commit", title: "x", tags: ["a"] })
  await service.record({ op: "capture", body: "x" })
})
afterAll(() => service.stop())

const NO_INTEGERS = [
  ...["-1", "1.5", "1e2", "0x10", "%2010", "10%20", "%2B10", "+10", "NaN", "null", "true", "ten"],
  ...["१०", "%E0%A5%A7%E0%A5%A6", "1,0", "1_0", "Infinity", "-", "--1", "%00", "9%00", "[]", "{}"]
]

describe.each(["/commitments", "/memories"])("%s", (path) => {
  it.each([...NO_INTEGERS, "0", "-0", "-9223372036854775809"])("limit=%s is 400", async (value) => {
    assertRefused(await service.get(`${path}?limit=${value}`), "INVALID_REQUEST", ['"limit"'])
  })

  it.each(NO_INTEGERS)("offset=%s is 400", async (value) => {
    assertRefused(await service.get(`${path}?offset=${value}`), "INVALID_REQUEST", ['"offset"'])
  })

  it.each([
    "limit=999999999999999999999",
    "limit=9007199254740993",
    "limit=010",
    "limit=",
    "offset=",
    "offset=00",
    "offset=2147483648",
    "offset=9007199254740993",
    "offset=9223372036854775808",
    "offset=999999999999999999999999999999",
    "limit[]=1",
    "limit[$gt]=1",
    "constructor=1",
    "__proto__=1",
    "__proto__[x]=1",
    "toString=1&hasOwnProperty=1",
    "id=1",
    "=1",
    "&&&",
    "a;b=1;limit=0",
    "LIMIT=0",
    "?limit=0",
    Array.from({ length: 100 }, (_, index) => `unknown${index}=1`).join("&")
  ])("?%s is 200", async (query) => {
    const reply = await service.get(`${path}?${query}`)
    assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
    assert.isAtMost(reply.body.pagination.limit, 100)
  })

  it.each(["limit=1&limit=2", "offset=1&offset=1", "since=2001-01-01&since=2001-01-01"])(
    "?%s, given twice, is 400",
    async (query) => {
      const [name = ""] = query.split("=")
      assertRefused(await service.get(`${path}?${query}`), "INVALID_REQUEST", [`"${name}"`])
    }
  )

  it.each(["limit=%zz", "x=%", "%=1", "owner=%C0%80", "kind=%ED%A0%80", "x=%FF", "x=%E0%A5"])(
    "?%s, no percent escape of UTF-8, is 400",
    async (query) => {
      assertRefused(await service.get(`${path}?${query}`), "INVALID_REQUEST", ["percent"])
    }
  )

  it.each([
    ...["infinity", "-infinity", "now", "today", "yesterday", "epoch", "1", "0", "-1", "null"],
    ...["20260101", "2026", "2026-1-1", "2026-01", "2026-02-30", "2026-13-01", "2026-00-10"],
    ...["2026-02-29", "2026-W47", "2026-W47-5", "2026-324", "+010000-01-01T00:00:00Z"],
    ...["-000001-01-01T00:00:00Z", "294277-01-01T00:00:00Z", "1767225600", "1767225600000"],
    ...["2026-11-20T10:00:00z", "2026-11-20t10:00:00Z", "2026-11-20 10:00:00", "2026-11-20T10Z"],
    ...["2026-11-20T10:00:00,5Z", "2026-11-20T10:00:00.Z", "2026-11-20T10:00:00"],
    ...["2026-11-20T23:59:60Z", "2026-11-20T24:00:00Z", "2026-11-20T25:00:00Z"],
    ...["2026-11-20T10:60:00Z", "2026-11-20T10:00:00+24:00", "2026-11-20T10:00:00+0100"],
    ...["2026-11-20T10:00:00Z%00", "%202026-11-20", "2026-11-20T10:00:00ZZ", "2026-11-20Z"],
    ...["٢٠٢٦-11-20", "2026-11-20T10:00:00.1234567891Z", "x".repeat(300)]
  ])("since=%s is 400", async (value) => {
    const reply = await service.get(`${path}?since=${value}`)
    assert.strictEqual(reply.status, 400, JSON.stringify(reply.body))
    assertRefused(reply, "INVALID_REQUEST")
  })
})

describe("one of several values", () => {
  it.each([
    ["/commitments?state=OPEN", "open, claimed, in_review, closed, reopened"],
    ["/commitments?state=open,closed", "state"],
    ["/commitments?state=open&state=closed", "state"],
    ["/commitments?state=open'%20or%201=1--", "state"],
    ["/commitments?state=%20open", "state"],
    ["/commitments?state=constructor", "state"],
    ["/commitments?reopened=1", "reopened"],
    ["/commitments?reopened=TRUE", "reopened"],
    ["/memories?status=ALL", "untriaged, triaged, linked, committed, dismissed, all"],
    ["/memories?status=open", "status"]
  ])("%s is 400", async (path, part) => {
    assertRefused(await service.get(path), "INVALID_REQUEST", [part])
  })
})

describe("texts", () => {
  it.each(["/commitments?owner", "/memories?kind"])("%s", async (parameter) => {
    const most = "x".repeat(256)
    for (const value of ["%25", "_", "%0A", "%27", most, "%F0%9F%98%80".repeat(256)]) {
      const reply = await service.get(`${parameter}=${value}`)
      assert.strictEqual(reply.status, 200, value)
      assert.deepStrictEqual(reply.body.data, [])
    }
    for (const value of ["%00", "a%00b", `${most}x`, "x".repeat(8_000)]) {
      assertRefused(await service.get(`${parameter}=${value}`), "INVALID_REQUEST")
    }
  })

  it("tags: a hundred at the most, each as long as a tag may be", async () => {
    const tags = (length: number) => Array.from({ length }, (_, index) => `t${index}`).join(",")
    const query = (value: string) => service.get(`/commitments?tags=${value}`)
    assert.strictEqual((await query(`${tags(99)},a`)).body.pagination.total, 1)
    assertRefused(await query(tags(101)), "INVALID_REQUEST", ["tags", "100"])
    assertRefused(await query(tags(2_000)), "INVALID_REQUEST", ["tags", "100"])
    assertRefused(await query("x".repeat(257)), "INVALID_REQUEST", ["tags", "256"])
    assertRefused(await query("a,%00"), "INVALID_REQUEST", ["NUL"])
  })
})
