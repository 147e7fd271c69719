// D22: the optional header `Idempotency-Key` on `POST /ops`: per token, for 24 hours, successes only.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { withClient } from "../support/postgres.ts"
import { exchange, rawOperation } from "../support/rawHttp.ts"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused, operationCount } from "./expectations.ts"
import { createWorkspace, issueToken } from "./otherCallers.ts"
import { commitmentIn } from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

let keys = 0
const newKey = () => `key ${keys++} of this file`
const perform = (key: string, operation: object, headers: Record<string, string> = {}) =>
  service.perform(operation, { "Idempotency-Key": key, ...headers })

/** Performs `use` and tells how many entries it made. */
const entriesMadeBy = async (use: () => Promise<void>) => {
  const before = await operationCount(service)
  await use()
  return (await operationCount(service)) - before
}

it("the same key and operation give the first answer again", async () => {
  const key = newKey()
  const made = await entriesMadeBy(async () => {
    const first = await perform(key, { op: "capture", body: "once" })
    assertPerformed(first)
    const again = await perform(key, { op: "capture", body: "once" })
    assert.deepStrictEqual(again.body, first.body)
  })
  assert.strictEqual(made, 1)
})

it("a hundred at once make one entry and get one answer", async () => {
  const key = newKey()
  const made = await entriesMadeBy(async () => {
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => perform(key, { op: "commit", title: "once" }))
    )
    for (const reply of replies) assertPerformed(reply)
    assert.strictEqual(new Set(replies.map((reply) => JSON.stringify(reply.body))).size, 1)
  })
  assert.strictEqual(made, 1)
})

it("what is the same operation, though written otherwise, is the same", async () => {
  const key = newKey()
  const operation = { op: "commit", title: "x", tags: ["b", "a"], meta: { a: 1, b: 2 } }
  const first = await perform(key, operation)
  const { meta: _, op: __, ...rest } = operation
  const otherwise = [
    { meta: { b: 2, a: 1 }, ...rest, op: "commit" },
    { ...operation, body: null, priority: null },
    { ...operation, tags: [" b", "a", "b"] },
    { ...operation, unknown: "ignored" }
  ]
  for (const same of otherwise) assert.deepStrictEqual((await perform(key, same)).body, first.body)
})

it("another operation under the key is 422, and changes nothing", async () => {
  const key = newKey()
  await perform(key, { op: "capture", body: "one" })
  const made = await entriesMadeBy(async () => {
    for (const operation of [
      { op: "capture", body: "two" },
      { op: "capture", body: "one", meta: {} },
      { op: "commit", title: "one" }
    ]) {
      assertRefused(await perform(key, operation), "VALIDATION_ERROR", ["Idempotency-Key"])
    }
  })
  assert.strictEqual(made, 0)
})

it("a hundred at once, half of them another operation: one entry", async () => {
  const key = newKey()
  const made = await entriesMadeBy(async () => {
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        perform(key, { op: "capture", body: index % 2 === 0 ? "even" : "odd" })
      )
    )
    const statuses = replies.map((reply) => reply.status)
    assert.lengthOf(
      statuses.filter((status) => status === 200),
      50
    )
    assert.lengthOf(
      statuses.filter((status) => status === 422),
      50
    )
  })
  assert.strictEqual(made, 1)
})

it("the key is the token's own", async () => {
  const key = newKey()
  const operation = { op: "capture", body: "one" }
  const first = await perform(key, operation)
  const { token } = await issueToken(service)
  const second = await perform(key, operation, { "X-Proxy-Token": token })
  const beside = await perform(key, operation, await createWorkspace(service))
  const records = [first, second, beside].map(assertPerformed)
  assert.strictEqual(new Set(records).size, 3)
})

it("failures are not kept", async () => {
  const key = newKey()
  const id = await commitmentIn(service, "claimed")
  const claim = { op: "claim", id, owner: "agent:two" }
  assertRefused(await perform(key, claim), "VALIDATION_ERROR")
  assertRefused(await perform(key, { op: "claim", id }), "INVALID_REQUEST")
  await service.record({ op: "release", id })
  assertPerformed(await perform(key, claim))
})

it("the answer is kept although the record has moved on", async () => {
  const key = newKey()
  const id = await commitmentIn(service)
  const claim = { op: "claim", id, owner: "agent:one" }
  const first = await perform(key, claim)
  await service.record({ op: "close", id, result: "pass", evidence: [] })
  assert.deepStrictEqual((await perform(key, claim)).body, first.body)
})

it("after 24 hours the key is free for any operation", async () => {
  const key = newKey()
  const first = assertPerformed(await perform(key, { op: "capture", body: "one" }))
  await withClient(service.database.url, async (client) => {
    const age = "update idempotency_keys set expires_at = expires_at - $2::interval where key = $1"
    await client.query(age, [key, "23 hours 59 minutes"])
    assert.strictEqual(assertPerformed(await perform(key, { op: "capture", body: "one" })), first)
    await client.query(age, [key, "1 minute"])
  })
  const later = await perform(key, { op: "capture", body: "two" })
  assert.notStrictEqual(assertPerformed(later), first)
  assert.deepStrictEqual((await perform(key, { op: "capture", body: "two" })).body, later.body)
})

describe("the key is 1 to 255 printable characters", () => {
  it.each([
    ["1 character", "!"],
    ["255 characters", "k".repeat(255)],
    ["spaces within", "a b  c"],
    [
      "the printable ASCII characters",
      String.fromCharCode(...Array.from({ length: 94 }, (_, i) => i + 33))
    ]
  ])("%s: accepted", async (_name, key) => {
    const first = await perform(key, { op: "capture", body: "x" })
    assertPerformed(first)
    assert.deepStrictEqual((await perform(key, { op: "capture", body: "x" })).body, first.body)
  })

  it.each([
    ["nothing", ""],
    ["256 characters", "k".repeat(256)],
    ["a tab within", "a\tb"],
    ["beyond ASCII", "caf\u00e9"]
  ])("%s: 400", async (_name, key) => {
    const body = JSON.stringify({ op: "capture", body: "x" })
    const made = await entriesMadeBy(async () => {
      const lines = [`Idempotency-Key: ${key}`]
      const { replies } = await exchange(service.baseUrl, rawOperation(body, lines), { answers: 1 })
      assertRefused(replies[0] ?? assert.fail(), "INVALID_REQUEST", ["Idempotency-Key", "255"])
    })
    assert.strictEqual(made, 0)
  })

  it("given twice, even the same one: 400", async () => {
    const body = JSON.stringify({ op: "capture", body: "x" })
    const lines = ["Idempotency-Key: a", "Idempotency-Key: a"]
    const { replies } = await exchange(service.baseUrl, rawOperation(body, lines), { answers: 1 })
    assertRefused(replies[0] ?? assert.fail(), "INVALID_REQUEST", ["Idempotency-Key"])
  })

  it("on a read it means nothing", async () => {
    const reply = await service.get("/status", { "Idempotency-Key": "k".repeat(300) })
    assert.strictEqual(reply.status, 200)
  })
})
