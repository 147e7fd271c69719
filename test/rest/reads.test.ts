// The two single views, the list items and the status snapshot: exactly the spec's keys, histories in
// the ledger's order, and what each operation leaves in them (D16, D17, D26).
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { assertRefused } from "./expectations.ts"
import { commitmentIn, memoryIn, UNKNOWN_COMMITMENT, UNKNOWN_MEMORY } from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService({ env: { LEDGER_BOOTSTRAP_NAME: "reads" } })
})
afterAll(() => service.stop())

const commitment = async (id: string) => (await service.get(`/commitments/${id}`)).body.data
const memory = async (id: string) => (await service.get(`/memories/${id}`)).body.data
const status = async () => (await service.get("/status")).body

const COMMITMENT_ITEM = [
  "id",
  "title",
  "body",
  "state",
  "owner",
  "priority",
  "tags",
  "created_at",
  "updated_at",
  "meta"
]
const MEMORY_ITEM = ["id", "body", "kind", "status", "tags", "created_at", "updated_at", "meta"]
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

it("an empty ledger: zeros everywhere, and no last operation", async () => {
  assert.deepStrictEqual(await status(), {
    success: true,
    data: {
      commitments: { open: 0, claimed: 0, in_review: 0, closed: 0, reopened: 0 },
      memories: { total: 0, untriaged: 0, dismissed: 0, committed: 0, linked: 0 },
      ledger: { total_operations: 0, last_operation_at: null }
    }
  })
  for (const path of ["/commitments", "/memories"]) {
    const { body, headers } = await service.get(path)
    assert.deepStrictEqual(body, {
      success: true,
      data: [],
      pagination: { limit: 50, offset: 0, total: 0 }
    })
    assert.match(headers.get("Ledger-Time") ?? "", TIME)
  }
})

it("the list items have exactly the spec's keys", async () => {
  await service.record({ op: "commit", title: "only a title" })
  await service.record({ op: "capture", body: "only a body" })
  const [item] = (await service.get("/commitments?limit=1")).body.data
  assert.deepStrictEqual(Object.keys(item), COMMITMENT_ITEM)
  assert.deepInclude(item, { body: null, owner: null, priority: null, tags: [], meta: {} })
  assert.match(item.id, /^cmt_[0-9a-z]{26}$/)
  assert.match(item.created_at, TIME)
  const [remembered] = (await service.get("/memories?limit=1")).body.data
  assert.deepStrictEqual(Object.keys(remembered), MEMORY_ITEM)
  assert.deepInclude(remembered, { kind: null, status: "untriaged", tags: [], meta: {} })
  assert.match(remembered.id, /^mem_[0-9a-z]{26}$/)
})

it("the single views have exactly the spec's keys", async () => {
  const keys = async (path: string) => Object.keys((await service.get(path)).body.data)
  assert.deepStrictEqual(await keys(`/commitments/${await commitmentIn(service)}`), [
    ...COMMITMENT_ITEM,
    ...["result", "evidence", "history", "linked_memories"]
  ])
  assert.deepStrictEqual(await keys(`/memories/${await memoryIn(service)}`), [
    ...MEMORY_ITEM,
    ...["priority", "annotations", "linked_commitments", "history"]
  ])
})

it("a commitment shows what it was made with", async () => {
  const fields = { title: "t", body: "b", tags: ["x", "y"], priority: "high", meta: { a: [1] } }
  assert.deepInclude(await commitment(await service.record({ op: "commit", ...fields })), fields)
})

it("a memory shows what it was made with", async () => {
  const fields = { body: "b", kind: "metric", tags: ["x", "y"], meta: { a: { b: null } } }
  assert.deepInclude(await memory(await service.record({ op: "capture", ...fields })), fields)
})

describe("the history of a commitment, operation by operation", () => {
  const evidence = [{ type: "test" }]
  const steps = [
    [{ op: "claim", owner: "agent:one" }, { owner: "agent:one" }],
    [{ op: "annotate", body: "half way" }, { body: "half way" }],
    [
      { op: "annotate", body: "stuck", kind: "blocker" },
      { body: "stuck", kind: "blocker" }
    ],
    [{ op: "release", reason: "not mine" }, {}],
    [{ op: "claim", owner: "human:jane" }, { owner: "human:jane" }],
    [{ op: "submit", body: "look", evidence }, {}],
    [{ op: "approve", body: "fine" }, { body: "fine" }],
    [
      { op: "close", result: "pass", summary: "done", evidence: [] },
      { result: "pass", summary: "done" }
    ],
    [{ op: "reopen", reason: "no" }, {}],
    [{ op: "close", result: "fail", evidence: [] }, { result: "fail" }]
  ] as const

  it("is oldest first, with the keys that the spec names, when they were given", async () => {
    const id = await service.record({ op: "commit", title: "x", body: "not in the history" })
    const receipts = []
    for (const [operation] of steps) {
      receipts.push((await service.perform({ ...operation, id })).body.op_id)
    }
    const { created_at, history, updated_at } = await commitment(id)
    const [first, ...others] = history
    assert.deepStrictEqual(Object.keys(first), ["op_id", "op", "actor", "timestamp"])
    assert.deepInclude(first, { op: "commit", timestamp: created_at })
    assert.strictEqual(history.at(-1).timestamp, updated_at)
    for (const [index, [operation, shown]] of steps.entries()) {
      const { actor, op, op_id, timestamp, ...conditional } = others[index]
      assert.deepStrictEqual({ op, ...conditional }, { op: operation.op, ...shown })
      assert.strictEqual(op_id, receipts[index])
      assert.strictEqual(actor, "admin")
      assert.match(timestamp, TIME)
    }
    const times = history.map((entry: { timestamp: string }) => entry.timestamp)
    assert.deepStrictEqual(times, Array.from(new Set(times)).toSorted())
  })
})

it("the history and annotations of a memory", async () => {
  const target = await commitmentIn(service)
  const id = await service.record({ op: "capture", body: "seen" })
  const steps = [
    [{ op: "annotate", body: "plain" }, {}],
    [{ op: "annotate", body: "asked", kind: "question" }, {}],
    [{ op: "triage", priority: "low", body: "looked at" }, { priority: "low" }],
    [{ op: "triage", kind: "note" }, {}],
    [{ op: "link", target }, { target }],
    [{ op: "dismiss", reason: "twice" }, {}]
  ] as const
  for (const [operation] of steps) await service.record({ ...operation, id })
  const { annotations, history } = await memory(id)
  for (const [index, [operation, shown]] of steps.entries()) {
    const { actor: _, op, op_id: __, timestamp: ___, ...conditional } = history[index + 1]
    assert.deepStrictEqual({ op, ...conditional }, { op: operation.op, ...shown })
  }
  const notes = [
    ["plain", null, history[1]],
    ["asked", "question", history[2]],
    ["looked at", "triage", history[3]]
  ] as const
  assert.deepStrictEqual(
    annotations,
    notes.map(([body, kind, { actor, op_id, timestamp }]) => ({
      op_id,
      body,
      kind,
      actor,
      timestamp
    }))
  )
})

it("linked records show each other, in the order of linking", async () => {
  const first = await service.record({ op: "capture", body: "one", kind: "note" })
  const second = await service.record({ op: "capture", body: "two" })
  const id = await service.record({ op: "commit", title: "both" })
  await service.record({ op: "link", id: second, target: id })
  await service.record({ op: "link", id: first, target: id })
  await service.record({ op: "close", id, result: "pass", evidence: [] })
  assert.deepStrictEqual((await commitment(id)).linked_memories, [
    { id: second, body: "two", kind: null },
    { id: first, body: "one", kind: "note" }
  ])
  assert.deepStrictEqual((await memory(first)).linked_commitments, [
    { id, title: "both", state: "closed", result: "pass" }
  ])
  assert.notInclude(
    (await commitment(id)).history.map((entry: { op: string }) => entry.op),
    "link"
  )
})

it("the status counts every record once, in its present state", async () => {
  const before = (await status()).data
  for (const state of [
    "open",
    "claimed",
    "in_review",
    "closed by both",
    "open after reopen"
  ] as const) {
    await commitmentIn(service, state)
  }
  for (const state of ["untriaged", "triaged", "linked", "committed", "dismissed"] as const) {
    await memoryIn(service, state)
  }
  const { commitments, ledger, memories } = (await status()).data
  // The linked and the committed memory each brought an open commitment of their own.
  assert.deepStrictEqual(commitments, {
    open: before.commitments.open + 4,
    claimed: before.commitments.claimed + 1,
    in_review: before.commitments.in_review + 1,
    closed: before.commitments.closed + 1,
    reopened: before.commitments.reopened + 1
  })
  assert.deepStrictEqual(memories, {
    total: before.memories.total + 5,
    untriaged: before.memories.untriaged + 1,
    dismissed: before.memories.dismissed + 1,
    committed: before.memories.committed + 1,
    linked: before.memories.linked + 1
  })
  assert.strictEqual(ledger.total_operations, before.ledger.total_operations + 25)
  const last = await service.record({ op: "capture", body: "the last one" })
  const after = (await status()).data.ledger
  assert.strictEqual(after.last_operation_at, (await memory(last)).created_at)
})

describe("D16: metadata", () => {
  it.each(["commitments", "memories"])("of later operations is merged, in %s", async (kind) => {
    const create = kind === "memories" ? { op: "capture", body: "x" } : { op: "commit", title: "x" }
    const id = await service.record({ ...create, meta: { a: 1, deep: { x: 1 }, kept: null } })
    await service.record({ op: "annotate", id, body: "y", meta: { a: 2, deep: { y: 2 }, b: [] } })
    const { meta } = (await service.get(`/${kind}/${id}`)).body.data
    assert.deepStrictEqual(meta, { a: 2, deep: { y: 2 }, kept: null, b: [] })
  })

  it("of a link goes to the memory, whose id is the record's", async () => {
    const id = await memoryIn(service)
    const target = await commitmentIn(service)
    await service.record({ op: "link", id, target, meta: { why: "same" } })
    assert.deepStrictEqual((await memory(id)).meta, { why: "same" })
    assert.deepStrictEqual((await commitment(target)).meta, {})
  })

  it("of a refused operation goes nowhere", async () => {
    const id = await commitmentIn(service)
    await service.perform({ op: "release", id, meta: { a: 1 } })
    assert.deepStrictEqual((await commitment(id)).meta, {})
  })
})

it("D17: evidence is shown as it was given, that of a submit before that of a close", async () => {
  const id = await commitmentIn(service, "claimed")
  const submitted = { type: "build", url: "u", body: "b", label: "l", payload: { exitCode: 0 } }
  const closed = { type: "custom", extra: { kept: [true, null] }, number: 7 }
  await service.record({ op: "submit", id, evidence: [submitted] })
  await service.record({ op: "close", id, result: "pass", evidence: [closed, closed] })
  assert.deepStrictEqual((await commitment(id)).evidence, [submitted, closed, closed])
})

describe("an id that is unknown, or of the other kind, is 404 and named", () => {
  it.each([
    `/commitments/${UNKNOWN_COMMITMENT}`,
    `/memories/${UNKNOWN_MEMORY}`,
    `/commitments/${UNKNOWN_MEMORY}`,
    `/memories/${UNKNOWN_COMMITMENT}`,
    "/commitments/cmt_",
    "/memories/nonsense",
    "/commitments/1",
    "/commitments/constructor",
    `/commitments/${"x".repeat(300)}`
  ])("%s", async (path) => {
    const id = path.split("/").at(-1) ?? ""
    assertRefused(await service.get(path), "NOT_FOUND", [id.slice(0, 60)])
  })

  it("an existing memory is no commitment, and the reverse", async () => {
    const id = await memoryIn(service)
    assertRefused(await service.get(`/commitments/${id}`), "NOT_FOUND", [id])
    const other = await commitmentIn(service)
    assertRefused(await service.get(`/memories/${other}`), "NOT_FOUND", [other])
    assertRefused(await service.get(`/commitments/${other.toUpperCase()}`), "NOT_FOUND")
  })
})
