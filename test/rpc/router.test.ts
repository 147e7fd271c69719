// tRPC under /trpc, through its own client: the same authentication, codes and answers as REST.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { assertNothingInternal, type Code } from "../rest/expectations.ts"
import { commitmentIn, memoryIn, UNKNOWN_COMMITMENT } from "../rest/records.ts"
import { startService, type TestService, TOKEN } from "../support/service.ts"
import { assertFails, batchingClientOf, clientOf } from "./clients.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const clientWith = (headers: Record<string, string> = {}) => clientOf(service, headers)
const admin = () => clientWith()

it("performs and reads what REST performs and reads", async () => {
  const client = admin()
  const {
    op_id,
    record_id: id,
    success
  } = await client.ops.mutate({ op: "commit", title: "typed" })
  assert.isTrue(success)
  assert.match(op_id, /^op_/)
  const { record_id: memory } = await client.ops.mutate({ op: "capture", body: "seen" })
  await client.ops.mutate({ op: "link", id: memory, target: id })
  await client.ops.mutate({ op: "claim", id, owner: "agent:typed" })
  const rest = async (path: string) => (await service.get(path)).body
  assert.deepStrictEqual(await client.status.query(), await rest("/status"))
  assert.deepStrictEqual(
    await client.commitments.get.query({ id }),
    await rest(`/commitments/${id}`)
  )
  assert.deepStrictEqual(
    await client.memories.get.query({ id: memory }),
    await rest(`/memories/${memory}`)
  )
  const filter = { state: "claimed", owner: "agent:typed", limit: 1000 } as const
  assert.deepStrictEqual(
    await client.commitments.list.query(filter),
    await rest("/commitments?state=claimed&owner=agent:typed&limit=1000")
  )
  assert.deepStrictEqual(await client.memories.list.query({}), await rest("/memories"))
})

describe("errors carry the spec's code", () => {
  it("of the domain", async () => {
    const client = admin()
    const id = await commitmentIn(service, "claimed")
    const claim = { op: "claim", id, owner: "me" } as const
    await assertFails(client.ops.mutate(claim), "VALIDATION_ERROR", 422, '"claimed"')
    const unknown = client.commitments.get.query({ id: UNKNOWN_COMMITMENT })
    await assertFails(unknown, "NOT_FOUND", 404, UNKNOWN_COMMITMENT)
    const memory = await memoryIn(service)
    await assertFails(client.commitments.get.query({ id: memory }), "NOT_FOUND", 404, memory)
  })

  it.each<[unknown, Code, number, string]>([
    [{ op: "claim", id: "cmt_1" }, "INVALID_REQUEST", 400, '"owner"'],
    [{ op: "unknown" }, "INVALID_REQUEST", 400, "capture, commit, claim"],
    [{}, "INVALID_REQUEST", 400, "capture, commit, claim"],
    ["text", "INVALID_REQUEST", 400, "object"],
    [null, "INVALID_REQUEST", 400, "object"],
    [[], "INVALID_REQUEST", 400, "object"],
    [undefined, "INVALID_REQUEST", 400, "object"],
    [{ op: "close", id: "cmt_1", result: "pass" }, "VALIDATION_ERROR", 422, "empty array"],
    [{ op: "capture", body: "\0" }, "INVALID_REQUEST", 400, "NUL"]
  ])("of the input %j", async (operation, code, status, part) => {
    await assertFails(admin().ops.mutate(operation as never), code, status, part)
  })

  it.each([
    { limit: 0 },
    { limit: 1.5 },
    { limit: "10" },
    { limit: 1e308 },
    { offset: -1 },
    { offset: 2 ** 53 },
    { state: "OPEN" },
    { owner: "\0" },
    { owner: 1 },
    { tags: ["a"] },
    { since: "now" },
    { reopened: "true" }
  ])("of the filter %j", async (filter) => {
    await assertFails(admin().commitments.list.query(filter as never), "INVALID_REQUEST", 400)
  })

  it("of the path and the method", async () => {
    for (const path of ["nothing", "constructor", "__proto__", "ops.x", "settings", "", "a/b"]) {
      const { body, status } = await service.get(`/trpc/${path}`)
      assert.include([400, 404], status, path)
      assert.include(["NOT_FOUND", "INVALID_REQUEST"], body.error.data.code)
      assertNothingInternal(body.error.message)
    }
    const get = await service.get("/trpc/ops?input=%7B%7D")
    assert.deepStrictEqual([get.status, get.body.error.data.code], [405, "INVALID_REQUEST"])
  })

  it.each(["{bad", "", "[", "null", '{"a":1}x', "\ufeff{}"])("of the body %j", async (body) => {
    const headers = { "Content-Type": "application/json" }
    const reply = await service.request("/trpc/ops", { method: "POST", headers, body })
    assert.deepStrictEqual([reply.status, reply.body.error.data.code], [400, "INVALID_REQUEST"])
    assertNothingInternal(JSON.stringify(reply.body))
  })

  it("of a body beyond the limit", async () => {
    const body = JSON.stringify({ op: "capture", body: "x".repeat(1024 * 1024) })
    const headers = { "Content-Type": "application/json" }
    const reply = await service.request("/trpc/ops", { method: "POST", headers, body })
    assert.deepStrictEqual([reply.status, reply.body.error.data.code], [400, "INVALID_REQUEST"])
  })
})

describe("authentication is that of REST", () => {
  it.each<[Record<string, string>, Code, number]>([
    [{ "X-Proxy-Token": "" }, "UNAUTHORIZED", 401],
    [{ "X-Proxy-Token": `${TOKEN}x` }, "UNAUTHORIZED", 401],
    [{ "X-Proxy-Token": "", Authorization: `Bearer ${TOKEN}` }, "UNAUTHORIZED", 401],
    [{ "X-Workspace-Id": "" }, "FORBIDDEN", 403],
    [{ "X-Workspace-Id": crypto.randomUUID() }, "FORBIDDEN", 403]
  ])("%j", async (headers, code, status) => {
    const client = clientWith(headers)
    await assertFails(client.status.query(), code, status)
    await assertFails(client.ops.mutate({ op: "capture", body: "x" }), code, status)
    await assertFails(client.settings.tokens.list.query(), code, status)
  })

  it("and comes before everything else", async () => {
    const headers = { "X-Proxy-Token": "", "Content-Type": "application/json" }
    for (const path of ["/trpc", "/trpc/", "/trpc/nothing", "/trpc/status", "/trpc/ops"]) {
      for (const init of [{}, { method: "POST", body: "{bad" }, { method: "DELETE" }]) {
        const { status } = await service.request(path, { ...init, headers })
        assert.strictEqual(status, 401, `${init.method ?? "GET"} ${path}`)
      }
    }
  })
})

describe("batches", () => {
  const batching = () => batchingClientOf(service)

  it("each call has its own answer", async () => {
    const client = batching()
    const [status, captured, unknown] = await Promise.allSettled([
      client.status.query(),
      client.memories.list.query({}),
      client.commitments.get.query({ id: UNKNOWN_COMMITMENT })
    ])
    assert.strictEqual(status.status, "fulfilled")
    assert.strictEqual(captured.status, "fulfilled")
    assert.strictEqual(unknown.status, "rejected")
    if (unknown.status === "rejected") {
      assert.strictEqual(unknown.reason.data.code, "NOT_FOUND")
    }
  })

  it("of operations are performed, all of them", async () => {
    const client = batching()
    const receipts = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        client.ops.mutate({ op: "capture", body: `in a batch ${index}` })
      )
    )
    assert.strictEqual(new Set(receipts.map((receipt) => receipt.record_id)).size, 20)
  })

  it("without a token fail as one", async () => {
    const client = batchingClientOf(service, { "X-Proxy-Token": "" })
    const calls = [client.status.query(), client.memories.list.query({})]
    await Promise.all(calls.map((call) => assertFails(call, "UNAUTHORIZED", 401)))
  })
})

it("Idempotency-Key is that of REST", async () => {
  const headers = { "Idempotency-Key": "shared by both doors" }
  const receipt = await clientWith(headers).ops.mutate({ op: "capture", body: "x" })
  const { body } = await service.perform({ op: "capture", body: "x" }, headers)
  assert.deepStrictEqual(body, receipt)
})
