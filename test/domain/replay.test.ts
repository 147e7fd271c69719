// Replaying a workspace's ledger gives its projection again, and verification finds whatever does not
// match. The database is tampered with through `pg`.

import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import fc from "fast-check"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { verifyWorkspace } from "../../src/domain/verify.ts"
import { openLedger, type TestLedger } from "../support/ledger.ts"
import { withClient } from "../support/postgres.ts"
import { histories, type Step, toOperation } from "./histories.ts"

let ledger: TestLedger
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger[Symbol.asyncDispose]())

const verify = (workspaceId: string) => ledger.run(verifyWorkspace(workspaceId))

const performHistory = async (workspaceId: string, groups: ReadonlyArray<ReadonlyArray<Step>>) => {
  const commitments: Array<string> = []
  const memories: Array<string> = []
  for (const group of groups) {
    const operations = group.flatMap((step) => toOperation(step, { commitments, memories }) ?? [])
    const ids = await ledger.perform(workspaceId, operations)
    for (const id of ids) {
      const known = id?.startsWith("cmt_") ? commitments : memories
      if (id !== undefined && !known.includes(id)) known.push(id)
    }
  }
}

it("replaying the ledger gives the projection again, after random histories", async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (groups) => {
      const workspaceId = await ledger.workspace()
      await performHistory(workspaceId, groups)
      const verification = await verify(workspaceId)
      assert.strictEqual(verification.problem, undefined)
    }),
    { numRuns: 20 }
  )
})

it("an empty ledger is sound", async () => {
  const verification = await verify(await ledger.workspace())
  assert.deepInclude(verification, { entries: 0, commitments: 0, problem: undefined })
})

it("more entries than a page are all checked", async () => {
  const workspaceId = await ledger.workspace()
  const titles = Array.from({ length: 450 }, (_, index) => ({ op: "commit", title: `n ${index}` }))
  await ledger.perform(workspaceId, titles)
  assert.deepInclude(await verify(workspaceId), {
    entries: 450,
    commitments: 450,
    problem: undefined
  })
  await tamper(
    `delete from commitments where workspace_id = '${workspaceId}' and created_seq = 431`
  )
  assert.deepInclude((await verify(workspaceId)).problem, { subject: "commitment", seq: 431 })
})

it("a workspace can be verified while it is written to", async () => {
  const workspaceId = await ledger.workspace()
  await ledger.perform(workspaceId, [{ op: "commit", title: "first" }])
  const write = ledger.perform(
    workspaceId,
    Array.from({ length: 300 }, () => ({ op: "capture", body: "busy" }))
  )
  const during = await Promise.all([verify(workspaceId), verify(workspaceId)])
  await write
  assert.deepEqual(
    during.map(({ problem }) => problem),
    [undefined, undefined]
  )
})

const tamper = (statement: string) =>
  withClient(ledger.database.url, async (client) => {
    const { rowCount } = await client.query(statement)
    assert.isAbove(rowCount ?? 0, 0, statement)
  })

/** A small ledger of nine entries with everything in it that can be tampered with. */
const smallLedger = async () => {
  const workspaceId = await ledger.workspace()
  const one = async (operation: object) =>
    (await ledger.perform(workspaceId, [operation]))[0] ?? "refused"
  const memory = await one({ op: "capture", body: "a bug", kind: "bug-report" })
  const commitment = await one({
    op: "commit",
    title: "Fix it",
    body: "long ".repeat(100),
    tags: ["a"],
    meta: { tier: "T1", note: "n".repeat(200) }
  })
  const other = await one({ op: "commit", title: "Another", source: memory })
  await one({ op: "claim", id: commitment, owner: "jane" })
  await one({ op: "link", id: memory, target: commitment })
  await one({ op: "annotate", id: commitment, body: "progress" })
  await one({ op: "close", id: commitment, result: "pass", evidence: [] })
  await one({ op: "triage", id: memory, priority: "high" })
  await one({ op: "annotate", id: other, body: "the last one" })
  return { workspaceId, memory, commitment, other }
}

type Small = Awaited<ReturnType<typeof smallLedger>>

const entry = ({ workspaceId }: Small, seq: number) =>
  `ledger_entries where workspace_id = '${workspaceId}' and seq = ${seq}`
const setEntry = (small: Small, seq: number, change: string) =>
  `update ledger_entries set ${change} where workspace_id = '${small.workspaceId}' and seq = ${seq}`
const setRecord = (table: string, id: (small: Small) => string, change: string) => (small: Small) =>
  `update ${table} set ${change} where workspace_id = '${small.workspaceId}' and id = '${id(small)}'`
const setHead = (change: string) => (small: Small) =>
  `update workspace_heads set ${change} where workspace_id = '${small.workspaceId}'`
const commitmentRow = (change: string) =>
  setRecord("commitments", ({ commitment }) => commitment, change)
const memoryRow = (change: string) => setRecord("memories", ({ memory }) => memory, change)

describe("verification names the first entry that does not match", () => {
  const rows: Array<[string, (small: Small) => string, { seq: number; differs: string }]> = [
    [
      "payload",
      (s) => setEntry(s, 4, "payload = replace(payload, 'jane', 'joan')"),
      { seq: 4, differs: "hash" }
    ],
    ["actor", (s) => setEntry(s, 4, "actor = 'somebody else'"), { seq: 4, differs: "hash" }],
    ["time", (s) => setEntry(s, 4, "time = time + interval '1 ms'"), { seq: 4, differs: "hash" }],
    ["record", (s) => setEntry(s, 4, `record_id = '${s.other}'`), { seq: 4, differs: "hash" }],
    ["operation id", (s) => setEntry(s, 4, "op_id = 'op_x'"), { seq: 4, differs: "hash" }],
    ["operation", (s) => setEntry(s, 4, "op = 'release'"), { seq: 4, differs: "hash" }],
    ["hash", (s) => setEntry(s, 4, "hash = sha256('x')"), { seq: 4, differs: "hash" }],
    [
      "previous hash",
      (s) => setEntry(s, 4, "prev_hash = sha256('x')"),
      { seq: 4, differs: "prev_hash" }
    ],
    ["format", (s) => setEntry(s, 4, "format = 9"), { seq: 4, differs: "format" }],
    ["first entry deleted", (s) => `delete from ${entry(s, 1)}`, { seq: 1, differs: "seq" }],
    ["middle entry deleted", (s) => `delete from ${entry(s, 4)}`, { seq: 4, differs: "seq" }],
    ["last entry deleted", (s) => `delete from ${entry(s, 9)}`, { seq: 9, differs: "seq" }]
  ]
  it.each(rows)("%s", async (_, statement, expected) => {
    const small = await smallLedger()
    const opId = await opIdAt(small.workspaceId, expected.seq)
    await tamper(statement(small))
    const { problem } = await verify(small.workspaceId)
    assert.deepInclude(problem, { subject: "entry", ...expected })
    const named = expected.differs === "seq" ? null : opId
    if (!statement(small).includes("op_id =")) assert.strictEqual(problem?.id, named)
    assert.include(problem?.message, `ntry ${expected.seq}`)
  })

  it("two entries in each other's place", async () => {
    const small = await smallLedger()
    await tamper(setEntry(small, 6, "seq = 1000"))
    await tamper(setEntry(small, 7, "seq = 6"))
    await tamper(setEntry(small, 1000, "seq = 7"))
    const { problem } = await verify(small.workspaceId)
    assert.deepInclude(problem, { subject: "entry", seq: 6, differs: "prev_hash" })
  })

  it("an entry of another workspace", async () => {
    const [small, source] = [await smallLedger(), await smallLedger()]
    await tamper(`delete from ${entry(small, 1)}`)
    await tamper(`
      insert into ledger_entries
      select '${small.workspaceId}'::uuid, seq, format, op_id, op, actor, record_id, time, payload,
        prev_hash, hash
      from ${entry(source, 1)}`)
    const { problem } = await verify(small.workspaceId)
    assert.deepInclude(problem, { subject: "entry", seq: 1, differs: "hash" })
  })
})

const opIdAt = (workspaceId: string, seq: number) =>
  ledger.run(
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql<{ op_id: string }>`
        select op_id from ledger_entries
        where workspace_id = ${workspaceId}::uuid and seq = ${seq}`
      return rows[0]?.op_id
    })
  )

describe("verification names the first record that differs from the ledger", () => {
  const rows: Array<[string, (small: Small) => string, string, string]> = [
    ["head's count", setHead("closed = closed + 1"), "head", "closed"],
    ["head's end", setHead("last_seq = last_seq - 1"), "head", "last_seq"],
    ["head's hash", setHead("last_hash = sha256('x')"), "head", "last_hash"],
    ["head's time", setHead("last_time = last_time + interval '1 ms'"), "head", "last_time"],
    ["commitment's state", commitmentRow("state = 'open'"), "commitment", "state"],
    ["commitment's title", commitmentRow("title = 'Fix that'"), "commitment", "title"],
    ["commitment's long body", commitmentRow("body = body || '.'"), "commitment", "body"],
    ["commitment's tags", commitmentRow("tags = '{b}'"), "commitment", "tags"],
    [
      "commitment's meta",
      commitmentRow("meta = replace(meta, 'T1', 'T2')"),
      "commitment",
      "meta.tier"
    ],
    [
      "commitment's long meta",
      commitmentRow("meta = replace(meta, 'nnnn', 'mmmm')"),
      "commitment",
      "meta.note"
    ],
    ["commitment's unreadable meta", commitmentRow("meta = '{'"), "commitment", "row"],
    [
      "commitment's time",
      commitmentRow("closed_at = closed_at + interval '1 ms'"),
      "commitment",
      "closed_at"
    ],
    [
      "commitment removed",
      (s) => `delete from commitments where id = '${s.commitment}'`,
      "commitment",
      "id"
    ],
    [
      "commitment added",
      (s) =>
        `insert into commitments select workspace_id, 'cmt_x', 99, title, body, state, result, owner, priority, tags, meta, memory_id, reopened, approved, created_at, updated_at, closed_at from commitments where id = '${s.other}'`,
      "commitment",
      "id"
    ],
    ["memory's status", memoryRow("status = 'dismissed'"), "memory", "status"],
    ["memory's priority", memoryRow("priority = null"), "memory", "priority"],
    ["memory removed", (s) => `delete from memories where id = '${s.memory}'`, "memory", "id"],
    ["link removed", (s) => `delete from links where commitment_id = '${s.other}'`, "link", "id"],
    [
      "link's entry",
      (s) => `update links set seq = 1 where commitment_id = '${s.other}'`,
      "link",
      "seq"
    ],
    [
      "link added",
      (s) => `insert into links values ('${s.workspaceId}', 'mem_x', 'cmt_x', 1)`,
      "link",
      "id"
    ]
  ]
  it.each(rows)("%s", async (_, statement, subject, differs) => {
    const small = await smallLedger()
    assert.strictEqual((await verify(small.workspaceId)).problem, undefined)
    await tamper(statement(small))
    const { problem } = await verify(small.workspaceId)
    assert.deepInclude(problem ?? {}, { subject, differs })
  })
})
