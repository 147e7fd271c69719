// tRPC under /trpc, through its own client: the same authentication, codes and answers as REST, and the
// settings of a workspace for its administrators.
import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from "@trpc/client"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { AppRouter } from "../../src/rpc/router.ts"
import { AUTHENTICATION, startService, TOKEN, type TestService, WORKSPACE_ID } from "../support/service.ts"
import { assertNothingInternal } from "../rest/expectations.ts"
import { issueToken } from "../rest/otherCallers.ts"
import { commitmentIn, memoryIn, UNKNOWN_COMMITMENT } from "../rest/records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const clientWith = (headers: Record<string, string> = {}, at = service, link = httpLink) =>
  createTRPCClient<AppRouter>({
    links: [link({ url: `${at.baseUrl}/trpc`, headers: { ...AUTHENTICATION, ...headers } })]
  })
const admin = () => clientWith()
const member = async () => {
  const { token } = await issueToken(service, { label: "a member", role: "member" })
  return clientWith({ "X-Proxy-Token": token })
}

/** The call is refused with this code in `error.data`, in the ledger's own words. */
const assertFails = async (call: Promise<unknown>, code: string, status: number, part = "") => {
  const error = await call.then(
    () => assert.fail(`accepted, not ${code}`),
    (error: unknown) => error
  )
  assert.instanceOf(error, TRPCClientError)
  const { data, message } = error as TRPCClientError<AppRouter>
  assert.deepInclude({ ...data }, { code, httpStatus: status }, message)
  assert.notProperty(data, "stack")
  assert.include(message, part)
  assertNothingInternal(message)
}

it("performs and reads what REST performs and reads", async () => {
  const client = admin()
  const { op_id, record_id: id, success } = await client.ops.mutate({ op: "commit", title: "typed" })
  assert.isTrue(success)
  assert.match(op_id, /^op_/)
  const { record_id: memory } = await client.ops.mutate({ op: "capture", body: "seen" })
  await client.ops.mutate({ op: "link", id: memory, target: id })
  await client.ops.mutate({ op: "claim", id, owner: "agent:typed" })
  const rest = async (path: string) => (await service.get(path)).body
  assert.deepStrictEqual(await client.status.query(), await rest("/status"))
  assert.deepStrictEqual(await client.commitments.get.query({ id }), await rest(`/commitments/${id}`))
  assert.deepStrictEqual(await client.memories.get.query({ id: memory }), await rest(`/memories/${memory}`))
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

  it.each([
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
    for (const path of ["nothing", "constructor", "__proto__", "ops.x", "settings", "", "%zz"]) {
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
  it.each([
    [{ "X-Proxy-Token": "" }, "UNAUTHORIZED", 401],
    [{ "X-Proxy-Token": `${TOKEN}x` }, "UNAUTHORIZED", 401],
    [{ "X-Proxy-Token": "", Authorization: `Bearer ${TOKEN}` }, "UNAUTHORIZED", 401],
    [{ "X-Workspace-Id": "" }, "FORBIDDEN", 403],
    [{ "X-Workspace-Id": crypto.randomUUID() }, "FORBIDDEN", 403]
  ])("%j", async (headers, code, status) => {
    const client = clientWith(headers as Record<string, string>)
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
  const batching = () => clientWith({}, service, httpBatchLink)

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
    const client = clientWith({ "X-Proxy-Token": "" }, service, httpBatchLink)
    const calls = [client.status.query(), client.memories.list.query({})]
    for (const call of calls) await assertFails(call, "UNAUTHORIZED", 401)
  })
})

it("Idempotency-Key is that of REST", async () => {
  const headers = { "Idempotency-Key": "shared by both doors" }
  const receipt = await clientWith(headers).ops.mutate({ op: "capture", body: "x" })
  const { body } = await service.perform({ op: "capture", body: "x" }, headers)
  assert.deepStrictEqual(body, receipt)
})

describe("settings", () => {
  it("are for administrators only", async () => {
    const { settings } = await member()
    const calls = [
      () => settings.workspaces.list.query(),
      () => settings.workspaces.create.mutate({ name: "x" }),
      () => settings.workspaces.rename.mutate({ name: "x" }),
      () => settings.tokens.list.query(),
      () => settings.tokens.issue.mutate({ label: "x" }),
      () => settings.tokens.revoke.mutate({ id: "tok_x" }),
      () => settings.webhooks.list.query(),
      () => settings.webhooks.remove.mutate({ id: "whk_x" })
    ]
    for (const call of calls) await assertFails(call(), "FORBIDDEN", 403, "admin")
  })

  it("of the workspace: its name, and another workspace beside it", async () => {
    const { settings } = admin()
    const renamed = await settings.workspaces.rename.mutate({ name: " Ledger of tests " })
    assert.deepInclude(renamed, { id: WORKSPACE_ID, name: "Ledger of tests" })
    const { token, workspace } = await settings.workspaces.create.mutate({ name: "beside" })
    assert.deepStrictEqual(await settings.workspaces.list.query(), [renamed])
    const beside = clientWith({ "X-Proxy-Token": token.token, "X-Workspace-Id": workspace.id })
    assert.deepStrictEqual(await beside.settings.workspaces.list.query(), [workspace])
    assert.strictEqual((await beside.status.query()).data.ledger.total_operations, 0)
    const tokens = await beside.settings.tokens.list.query()
    assert.deepStrictEqual(
      tokens.map(({ id, role }) => ({ id, role })),
      [{ id: token.id, role: "admin" }]
    )
    await assertFails(
      beside.settings.tokens.revoke.mutate({ id: (await issueToken(service)).id }),
      "NOT_FOUND",
      404
    )
  })

  it("issue a token that is shown once, list it by its prefix, and end it at once", async () => {
    const { settings } = admin()
    const issued = await settings.tokens.issue.mutate({ label: "agent:claude", role: "member" })
    assert.match(issued.token, /^wlt_[0-9A-Za-z]{39}$/)
    assert.isTrue(issued.token.startsWith(issued.prefix))
    const listed = (await settings.tokens.list.query()).find(({ id }) => id === issued.id)
    const { token: _, ...shown } = issued
    assert.deepStrictEqual(listed, shown)
    assert.deepInclude(shown, { actor: "agent:claude", last_used_at: null, revoked_at: null })
    const client = clientWith({ "X-Proxy-Token": issued.token })
    await client.status.query()
    await settings.tokens.revoke.mutate({ id: issued.id })
    await assertFails(client.status.query(), "UNAUTHORIZED", 401)
    await assertFails(settings.tokens.revoke.mutate({ id: issued.id }), "NOT_FOUND", 404, issued.id)
    const revoked = (await settings.tokens.list.query()).find(({ id }) => id === issued.id)
    assert.isString(revoked?.revoked_at)
  })

  it("show when a token was last used, on whichever replica", async () => {
    const { id, token } = await issueToken(service)
    const replica = await startService({ database: service.database })
    const before = new Date().toISOString()
    await clientWith({ "X-Proxy-Token": token }, replica).status.query()
    // A replica writes the uses that it has seen down at its end, at the latest.
    await replica.stop()
    const listed = (await admin().settings.tokens.list.query()).find((one) => one.id === id)
    assert.isAtLeast(Date.parse(listed?.last_used_at ?? ""), Date.parse(before) - 100)
  })

  it("list and remove webhooks, whose secret is never shown", async () => {
    const { ops, settings } = admin()
    const webhook = { url: "https://receiver.test/1", secret: "not to be shown", states: ["closed"] }
    const { record_id: id } = await ops.mutate({
      op: "webhook.register",
      ...webhook,
      states: ["closed"]
    })
    const list = await settings.webhooks.list.query()
    const listed = list.find((one) => one.id === id)
    assert.deepInclude(listed, {
      url: webhook.url,
      states: ["closed"],
      events: ["commitment.state_changed"]
    })
    assert.notInclude(JSON.stringify(list), webhook.secret)
    await settings.webhooks.remove.mutate({ id })
    assert.isUndefined((await settings.webhooks.list.query()).find((one) => one.id === id))
    await assertFails(settings.webhooks.remove.mutate({ id }), "NOT_FOUND", 404, id)
  })

  it.each(["", " ", "x".repeat(257), "two\nlines", "a\0b", "\ud800"])(
    "refuse the name and label %j",
    async (text) => {
      const { settings } = admin()
      const calls = [
        settings.workspaces.create.mutate({ name: text }),
        settings.workspaces.rename.mutate({ name: text }),
        settings.tokens.issue.mutate({ label: text })
      ]
      for (const call of calls) await assertFails(call, "INVALID_REQUEST", 400)
    }
  )

  it.each(["", "nothing", "a\0b", "\ud800", "'; --", "x".repeat(100_000)])(
    "find no token and no webhook with the id %.20j",
    async (id) => {
      const { settings } = admin()
      const calls = [settings.tokens.revoke.mutate({ id }), settings.webhooks.remove.mutate({ id })]
      for (const call of calls) {
        const error = await call.then(
          () => assert.fail("accepted"),
          (error: TRPCClientError<AppRouter>) => error
        )
        assert.include(["NOT_FOUND", "INVALID_REQUEST"], error.data?.code, error.message)
      }
    }
  )
})
