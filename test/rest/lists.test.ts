// The two lists: pages, filters, order and polling (D4, D7, D8, D9), and every odd value that a query
// parameter may have: accepted or 400, never anything else.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"

let service: TestService
const commitments: Array<string> = []
const memories: Array<string> = []

/** 120 commitments and 3 kinds of memory, oldest first. */
beforeAll(async () => {
  service = await startService()
  for (let index = 0; index < 120; index++) {
    const tags = [index % 2 === 0 ? "even" : "odd", ...(index % 10 === 0 ? ["ten", "{a}"] : [])]
    commitments.push(await service.record({ op: "commit", title: `number ${index}`, tags }))
  }
  for (const id of commitments.slice(0, 5))
    await service.record({ op: "claim", id, owner: "a%_'b" })
  for (const kind of ["note", "metric", "note", "note"]) {
    memories.push(await service.record({ op: "capture", body: "seen", kind }))
  }
  await service.record({ op: "dismiss", id: memories[3] })
})
afterAll(() => service.stop())

const list = async (query: string, path = "/commitments") => {
  const reply = await service.get(`${path}?${query}`)
  assert.strictEqual(reply.status, 200, `${query}: ${JSON.stringify(reply.body)}`)
  return {
    ids: reply.body.data.map((item: { id: string }) => item.id) as Array<string>,
    pagination: reply.body.pagination,
    ledgerTime: reply.headers.get("Ledger-Time") ?? "",
    data: reply.body.data
  }
}

const newestFirst = commitments.toReversed.bind(commitments)

describe("pages", () => {
  it.each([
    ["", 50, 0, 50],
    ["limit=10", 10, 0, 10],
    ["limit=1", 1, 0, 1],
    ["limit=100", 100, 0, 100],
    ["limit=101", 100, 0, 100],
    ["limit=5000", 100, 0, 100],
    ["limit=100&offset=100", 100, 100, 20],
    ["limit=40&offset=80", 40, 80, 40],
    ["offset=119", 50, 119, 1],
    ["offset=120", 50, 120, 0],
    ["offset=2147483648", 50, 2147483648, 0]
  ])("?%s: limit %d, offset %d, %d items of 120", async (query, limit, offset, length) => {
    const { ids, pagination } = await list(query)
    assert.deepStrictEqual(pagination, { limit, offset, total: 120 })
    assert.deepStrictEqual(ids, newestFirst().slice(offset, offset + length))
  })

  it("are newest first, whatever was changed since (D8)", async () => {
    const { ids } = await list("limit=100")
    assert.deepStrictEqual(ids, newestFirst().slice(0, 100))
    assert.deepStrictEqual((await list("status=all", "/memories")).ids, memories.toReversed())
  })
})

describe("filters", () => {
  const byIndex = (keep: (index: number) => boolean) =>
    commitments.filter((_, index) => keep(index)).toReversed()
  const rows: ReadonlyArray<[string, (index: number) => boolean]> = [
    ["state=open", (index) => index >= 5],
    ["state=claimed", (index) => index < 5],
    ["state=in_review", () => false],
    ["state=closed", () => false],
    ["state=reopened", () => false],
    ["state=", () => true],
    ["owner=a%25_'b", (index) => index < 5],
    ["owner=a", () => false],
    ["owner=%25", () => false],
    ["owner=", () => true],
    ["tags=ten", (index) => index % 10 === 0],
    ["tags=ten,odd", (index) => index % 10 === 0 || index % 2 === 1],
    ["tags=%20ten%20,,nothing,", (index) => index % 10 === 0],
    ["tags=ten%2Codd", (index) => index % 10 === 0 || index % 2 === 1],
    ["tags={a}", (index) => index % 10 === 0],
    ["tags=nothing", () => false],
    ["tags=TEN", () => false],
    ["tags=", () => true],
    ["tags=,", () => true],
    ["tags=%22,%5C,'", () => false],
    ["reopened=true", () => false],
    ["reopened=false", () => true],
    ["reopened=true&state=closed", () => false],
    ["state=claimed&tags=even&owner=a%25_'b", (index) => index < 5 && index % 2 === 0],
    ["unknown=1&state=open", (index) => index >= 5]
  ]
  it.each(rows)("?%s", async (query, keep) => {
    const { ids, pagination } = await list(`${query}&limit=100`)
    const expected = byIndex(keep)
    assert.strictEqual(pagination.total, expected.length)
    assert.deepStrictEqual(ids, expected.slice(0, 100))
  })

  it.each([
    ["", [2, 1, 0]],
    ["status=dismissed", [3]],
    ["status=all", [3, 2, 1, 0]],
    ["status=untriaged", [2, 1, 0]],
    ["status=triaged", []],
    ["status=", [2, 1, 0]],
    ["kind=note", [2, 0]],
    ["kind=note&status=all", [3, 2, 0]],
    ["kind=note&status=dismissed", [3]],
    ["kind=nothing", []],
    ["kind=", [2, 1, 0]]
  ])("D7: memories?%s", async (query, expected) => {
    const { ids, pagination } = await list(query, "/memories")
    assert.deepStrictEqual(
      ids,
      expected.map((index) => memories[index])
    )
    assert.strictEqual(pagination.total, expected.length)
  })
})

describe("since is exclusive, at the very millisecond", () => {
  it.each(["/commitments", "/memories"])("%s", async (path) => {
    const kind = path === "/memories" ? { op: "capture", body: "x" } : { op: "commit", title: "x" }
    const id = await service.record(kind)
    const [{ created_at }] = (await list("limit=1", path)).data
    const before = new Date(Date.parse(created_at) - 1).toISOString()
    assert.deepStrictEqual((await list(`since=${before}`, path)).ids, [id])
    assert.deepStrictEqual((await list(`since=${created_at}`, path)).ids, [])
    const finer = created_at.replace("Z", "9999Z")
    assert.deepStrictEqual((await list(`since=${finer}`, path)).ids, [])
    assert.strictEqual((await list(`since=${before}`, path)).pagination.total, 1)
  })

  it("commitments count from their last update, memories from their creation", async () => {
    const { ledgerTime } = await list("limit=1")
    const [id] = commitments
    await service.record({ op: "annotate", id, body: "x" })
    await service.record({ op: "annotate", id: memories[0], body: "x" })
    assert.deepStrictEqual((await list(`since=${ledgerTime}`)).ids, [id])
    assert.deepStrictEqual((await list(`since=${ledgerTime}`, "/memories")).ids, [])
  })

  it("a poller that follows Ledger-Time sees each change once, while writers write", async () => {
    let { ledgerTime } = await list("limit=1")
    const seen: Array<string> = []
    const writers = Array.from({ length: 8 }, async () => {
      const made = []
      for (let index = 0; index < 10; index++) {
        made.push(await service.record({ op: "commit", title: "polled" }))
      }
      return made
    })
    const written = Promise.all(writers)
    let made: Array<string> | undefined
    void written.then((ids) => {
      made = ids.flat()
    })
    for (let last = false; !last; ) {
      last = made !== undefined
      const page = await list(`limit=100&since=${ledgerTime}`)
      seen.push(...page.ids)
      ledgerTime = page.ledgerTime
    }
    assert.deepStrictEqual(seen.toSorted(), (await written).flat().toSorted())
  })

  it.each([
    "2001-01-01",
    "2001-01-01T00:00Z",
    "2001-01-01T00:00:00Z",
    "2001-01-01T00:00:00.1234567Z",
    "2001-01-01T00:00:00+05:30",
    "2001-01-01T00:00:00%2B05:30",
    "2001-01-01T00:00:00-08:00",
    "0000-01-01",
    "0001-01-01T00:00:00Z",
    "2000-02-29",
    ""
  ])("%s is a time before everything", async (since) => {
    assert.isAtLeast((await list(`since=${since}`)).pagination.total, 120)
  })

  it.each(["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59-23:59", "2999-01-01"])(
    "%s is a time after everything",
    async (since) => {
      assert.strictEqual((await list(`since=${since}`)).pagination.total, 0)
    }
  )
})
