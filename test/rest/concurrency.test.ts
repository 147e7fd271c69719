// Many callers of one record at once, on one replica and on two: exactly one claim wins, and every
// history replays to the state that is stored.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { withClient } from "../support/postgres.ts"
import { type Reply, startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused } from "./expectations.ts"

let one: TestService
let other: TestService
beforeAll(async () => {
  one = await startService()
  other = await startService({ database: one.database })
})
afterAll(async () => {
  await other.stop()
  await one.stop()
})

const view = async (id: string) => (await one.get(`/commitments/${id}`)).body.data
const times = <A>(count: number, use: (index: number) => Promise<A>) =>
  Promise.all(Array.from({ length: count }, (_, index) => use(index)))

/** The entries of a record as the database has them, in the ledger's order. */
const entriesOf = (id: string): Promise<Array<{ op_id: string; op: string; time: Date }>> =>
  withClient(one.database.url, async (client) => {
    const { rows } = await client.query(
      "select op_id, op, time from ledger_entries where record_id = $1 order by seq",
      [id]
    )
    return rows
  })

describe("simultaneous claims: one 200, the others 422, one entry", () => {
  it.each([2, 8, 100, 1_000])("%d on one replica", async (count) => {
    await assertOneWins(count, () => one)
  })

  it.each([2, 8, 100, 1_000])("%d on two replicas", async (count) => {
    await assertOneWins(count, (index) => (index % 2 === 0 ? one : other))
  })

  const assertOneWins = async (count: number, replicaOf: (index: number) => TestService) => {
    const id = await one.record({ op: "commit", title: "wanted" })
    const replies = await times(count, (index) =>
      replicaOf(index).perform({ op: "claim", id, owner: `agent:${index}` })
    )
    const [winner, ...others] = replies.toSorted((a, b) => a.status - b.status)
    assert.strictEqual(assertPerformed(winner as Reply), id)
    for (const reply of others) {
      assertRefused(reply, "VALIDATION_ERROR", ['"open"', '"claimed"'])
    }
    const { history, owner, state } = await view(id)
    assert.strictEqual(state, "claimed")
    assert.strictEqual(owner, `agent:${replies.findIndex((reply) => reply.status === 200)}`)
    const claims = history.filter((entry: { op: string }) => entry.op === "claim")
    assert.deepStrictEqual(
      claims.map((entry: { op_id: string }) => entry.op_id),
      [winner?.body.op_id]
    )
  }
})

it("a hundred requests with one Idempotency-Key on two replicas make one entry", async () => {
  const replies = await times(100, (index) =>
    (index % 2 === 0 ? one : other).perform(
      { op: "commit", title: "once" },
      { "Idempotency-Key": "over two replicas" }
    )
  )
  const ids = new Set(replies.map(assertPerformed))
  assert.strictEqual(ids.size, 1)
  assert.lengthOf(await entriesOf(Array.from(ids)[0] ?? ""), 1)
})

/** The spec's table, in a few words: what each operation makes of a state, if it is accepted. */
const NEXT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  claim: { open: "claimed" },
  release: { claimed: "open" },
  close: { open: "closed", claimed: "closed" },
  reopen: { closed: "open" },
  annotate: { open: "open", claimed: "claimed", closed: "closed" }
}

const STORM = [
  { op: "claim", owner: "agent:storm" },
  { op: "release" },
  { op: "close", result: "pass", evidence: [] },
  { op: "reopen" },
  { op: "annotate", body: "in the storm" }
]

it("claim, release, close and reopen at once: the history replays to the stored state", async () => {
  const ids = await times(5, () => one.record({ op: "commit", title: "stormy" }))
  const replies = await times(500, (index) => {
    const operation = { ...STORM[(index * 7) % STORM.length], id: ids[index % 3] }
    return (index % 2 === 0 ? one : other).perform(operation)
  })
  for (const reply of replies) assert.include([200, 422], reply.status, JSON.stringify(reply.body))
  const performed = new Set(
    replies.filter((reply) => reply.status === 200).map((reply) => reply.body.op_id)
  )
  const seen: Array<string> = []
  for (const id of ids) {
    const { history, state, updated_at } = await view(id)
    const entries = await entriesOf(id)
    const order = entries.map((entry) => [entry.op_id, entry.time.toISOString()])
    assert.deepStrictEqual(
      history.map((entry: { op_id: string; timestamp: string }) => [entry.op_id, entry.timestamp]),
      order
    )
    const [, ...later] = entries
    seen.push(...later.map((entry) => entry.op_id))
    const replayed = later.reduce((before, { op }) => {
      const after = NEXT[op]?.[before]
      assert.isDefined(after, `${op} was accepted in ${before}`)
      return after ?? before
    }, "open")
    assert.strictEqual(state, replayed)
    assert.strictEqual(updated_at, entries.at(-1)?.time.toISOString())
    const distinct = new Set(entries.map((entry) => entry.time.getTime()))
    assert.strictEqual(distinct.size, entries.length)
  }
  assert.deepStrictEqual(new Set(seen), performed)
})

it("after all this the ledger has no gap, no repeated id, and its counts are true", async () => {
  await withClient(one.database.url, async (client) => {
    const { rows } = await client.query(`
      select count(*)::int as entries, max(seq)::int as last, count(distinct op_id)::int as ids,
        bool_and(time >= before) as ordered
      from (select seq, op_id, time, lag(time, 1, time) over (order by seq) as before
        from ledger_entries) as entry`)
    const [{ entries, ids, last, ordered }] = rows
    assert.deepStrictEqual([last, ids, ordered], [entries, entries, true])
    const states = await client.query(
      "select state, count(*)::int as count from commitments group by state"
    )
    const { commitments, ledger } = (await one.get("/status")).body.data
    assert.strictEqual(ledger.total_operations, entries)
    for (const { count, state } of states.rows) assert.strictEqual(commitments[state], count, state)
  })
})

it("a page that is read while writers write belongs together with its total", async () => {
  let writing = true
  const written = times(50, () => one.record({ op: "commit", title: "paged" })).finally(() => {
    writing = false
  })
  while (writing) {
    const { data, pagination } = (await other.get("/commitments?limit=100")).body
    const next = (await other.get(`/commitments?offset=${pagination.total}`)).body
    assert.isAtLeast(next.pagination.total, pagination.total)
    assert.lengthOf(data, Math.min(100, pagination.total))
  }
  await written
})
