// `settings.*` over tRPC: what administrators may do beside the ledger (D15, D25), and nobody else.
import { TRPCClientError } from "@trpc/client"
import { afterAll, assert, beforeAll, it } from "vitest"
import type { AppRouter } from "../../src/rpc/router.ts"
import { issueToken } from "../rest/otherCallers.ts"
import { startService, type TestService, WORKSPACE_ID } from "../support/service.ts"
import { assertFails, clientOf } from "./clients.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const admin = () => clientOf(service)
const member = async () => {
  const { token } = await issueToken(service, { label: "a member", role: "member" })
  return clientOf(service, { "X-Proxy-Token": token })
}

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
    () => settings.webhooks.remove.mutate({ id: "whk_x" }),
    () => settings.deliveries.list.query(),
    () => settings.deliveries.get.query({ id: "dlv_x" })
  ]
  for (const call of calls) await assertFails(call(), "FORBIDDEN", 403, "admin")
})

it("of the workspace: its name, and another workspace beside it", async () => {
  const { settings } = admin()
  const renamed = await settings.workspaces.rename.mutate({ name: " Ledger of tests " })
  assert.deepInclude(renamed, { id: WORKSPACE_ID, name: "Ledger of tests" })
  const { token, workspace } = await settings.workspaces.create.mutate({ name: "beside" })
  assert.deepStrictEqual(await settings.workspaces.list.query(), [renamed])
  const beside = clientOf(service, { "X-Proxy-Token": token.token, "X-Workspace-Id": workspace.id })
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
  const client = clientOf(service, { "X-Proxy-Token": issued.token })
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
  await clientOf(replica, { "X-Proxy-Token": token }).status.query()
  // A replica writes the uses that it has seen down at its end, at the latest.
  await replica.stop()
  const listed = (await admin().settings.tokens.list.query()).find((one) => one.id === id)
  assert.isAtLeast(Date.parse(listed?.last_used_at ?? ""), Date.parse(before) - 100)
})

it("list and remove webhooks, whose secret is never shown", async () => {
  const { ops, settings } = admin()
  const webhook = {
    url: "https://receiver.test/1",
    secret: "not to be shown",
    states: ["closed"]
  }
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
      () => settings.workspaces.create.mutate({ name: text }),
      () => settings.workspaces.rename.mutate({ name: text }),
      () => settings.tokens.issue.mutate({ label: text })
    ]
    for (const call of calls) await assertFails(call(), "INVALID_REQUEST", 400)
  }
)

it("find no token, no webhook and no delivery under an id that is none", async () => {
  const { settings } = admin()
  const calls = [
    settings.tokens.revoke.mutate,
    settings.webhooks.remove.mutate,
    settings.deliveries.resend.mutate
  ]
  for (const id of ["", "nothing", "'; --", "x".repeat(100_000), "a\0b", "\ud800"]) {
    for (const call of calls) {
      const error: unknown = await call({ id }).catch((error: unknown) => error)
      assert.instanceOf(error, TRPCClientError, JSON.stringify(id))
      const { data, message } = error as TRPCClientError<AppRouter>
      assert.include(
        ["NOT_FOUND", "INVALID_REQUEST"],
        data?.code,
        `${JSON.stringify(id)} ${message}`
      )
    }
  }
})
