// Decisions D1 to D6 beyond the tables of states: results, owners, reopening, sources and links.
import { afterAll, assert, beforeAll, it } from "vitest"
import { withClient } from "../support/postgres.ts"
import { startService, type TestService } from "../support/service.ts"
import { assertRefused, operationCount } from "./expectations.ts"
import { commitmentIn, memoryIn } from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const commitment = async (id: string) => (await service.get(`/commitments/${id}`)).body.data
const memory = async (id: string) => (await service.get(`/memories/${id}`)).body.data

/** The callbacks' `closedAt`, which no read shows. */
const closedAt = (id: string): Promise<Date | null> =>
  withClient(service.database.url, async (client) => {
    const { rows } = await client.query("select closed_at from commitments where id = $1", [id])
    return rows[0].closed_at
  })

it("D1: approve closes with the result pass, and its entry carries the body", async () => {
  const { history, result, state } = await commitment(
    await commitmentIn(service, "closed by approve")
  )
  assert.deepStrictEqual([state, result], ["closed", "pass"])
  assert.deepInclude(history.at(-1), { op: "approve", body: "well done" })
})

it("D2: a close after an approve records result, evidence and summary, once", async () => {
  const id = await commitmentIn(service, "closed by approve")
  const approvedAt = await closedAt(id)
  const evidence = [{ type: "test", url: "https://ci.test/1" }]
  const close = { op: "close", id, result: "fail", evidence, summary: "not after all" }
  assert.strictEqual((await service.perform(close)).status, 200)
  const after = await commitment(id)
  assert.deepInclude(after, { state: "closed", result: "fail", evidence })
  assert.deepInclude(after.history.at(-1), { result: "fail", summary: "not after all" })
  assert.deepStrictEqual(await closedAt(id), approvedAt)
  assertRefused(await service.perform(close), "VALIDATION_ERROR", ['"closed"'])
})

it("D2: reopening ends the second close that an approve allows", async () => {
  const id = await commitmentIn(service, "closed by approve")
  await service.record({ op: "reopen", id })
  await service.record({ op: "close", id, result: "pass", evidence: [] })
  const again = await service.perform({ op: "close", id, result: "fail", evidence: [] })
  assertRefused(again, "VALIDATION_ERROR", ['"closed"'])
})

it("D3: only release and reopen remove the owner", async () => {
  const id = await commitmentIn(service, "open")
  const steps = [
    [{ op: "claim", owner: "human:jane" }, "human:jane"],
    [{ op: "submit" }, "human:jane"],
    [{ op: "approve" }, "human:jane"],
    [{ op: "reopen" }, null],
    [{ op: "claim", owner: "agent:two" }, "agent:two"],
    [{ op: "release" }, null],
    [{ op: "claim", owner: "agent:three" }, "agent:three"],
    [{ op: "annotate", body: "half way" }, "agent:three"],
    [{ op: "close", result: "fail", evidence: [] }, "agent:three"]
  ] as const
  for (const [operation, owner] of steps) {
    await service.record({ ...operation, id })
    assert.strictEqual((await commitment(id)).owner, owner, operation.op)
  }
})

it("D3: reopen sets the result to null and keeps the evidence", async () => {
  const id = await commitmentIn(service, "open after reopen")
  const { evidence, result, state } = await commitment(id)
  assert.deepStrictEqual([state, result], ["open", null])
  assert.deepStrictEqual(evidence, [{ type: "log", body: "given at close" }])
  assert.isNull(await closedAt(id))
})

it("D4: reopened is asked for and counted, but no state that is stored", async () => {
  const ids = (reply: { body: { data: Array<{ id: string }> } }) =>
    reply.body.data.map((item) => item.id)
  const counts = async () => (await service.get("/status")).body.data.commitments
  const before = await counts()
  const id = await commitmentIn(service, "open after reopen")
  const during = await counts()
  assert.deepStrictEqual(during, {
    ...before,
    open: before.open + 1,
    reopened: before.reopened + 1
  })
  const stored = await service.get("/commitments?state=reopened")
  assert.deepStrictEqual(stored.body.data, [])
  assert.strictEqual(stored.body.pagination.total, 0)
  assert.include(ids(await service.get("/commitments?reopened=true")), id)
  assert.notInclude(ids(await service.get("/commitments?reopened=false")), id)
  await service.record({ op: "claim", id, owner: "agent:one" })
  assert.strictEqual((await counts()).reopened, before.reopened)
  assert.notInclude(ids(await service.get("/commitments?reopened=true")), id)
})

it("D5: a commitment from a memory makes it committed and links both ways", async () => {
  const source = await service.record({ op: "capture", body: "it crashes", kind: "bug-report" })
  const first = await service.record({ op: "commit", title: "mend it", source })
  const second = await service.record({ op: "commit", title: "test it", source })
  const from = await memory(source)
  assert.strictEqual(from.status, "committed")
  assert.deepStrictEqual(from.linked_commitments, [
    { id: first, title: "mend it", state: "open", result: null },
    { id: second, title: "test it", state: "open", result: null }
  ])
  assert.deepStrictEqual((await commitment(second)).linked_memories, [
    { id: source, body: "it crashes", kind: "bug-report" }
  ])
})

it("D6: the same link again is a new entry and one association", async () => {
  const id = await memoryIn(service)
  const target = await commitmentIn(service)
  const before = await operationCount(service)
  await service.record({ op: "link", id, target })
  await service.record({ op: "link", id, target })
  assert.strictEqual(await operationCount(service), before + 2)
  const linked = await memory(id)
  assert.lengthOf(linked.linked_commitments, 1)
  assert.lengthOf((await commitment(target)).linked_memories, 1)
  assert.lengthOf(linked.history, 3)
})

it.each(["linked", "committed"] as const)(
  "D6: triage of a %s memory records priority and kind and leaves the status",
  async (status) => {
    const id = await memoryIn(service, status)
    await service.record({ op: "triage", id, priority: "high", kind: "metric", body: "look here" })
    const after = await memory(id)
    assert.deepInclude(after, { status, priority: "high", kind: "metric" })
    assert.deepInclude(after.annotations.at(-1), { body: "look here", kind: "triage" })
  }
)

it("D6: a triage that names no priority or kind keeps those that were given", async () => {
  const id = await service.record({ op: "capture", body: "seen", kind: "note" })
  await service.record({ op: "triage", id, priority: "low" })
  await service.record({ op: "triage", id })
  assert.deepInclude(await memory(id), { priority: "low", kind: "note" })
})
