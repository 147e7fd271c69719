// Who is let in, and as whom: the two headers (D13), bearer tokens (D14), actors (D21), roles (D25).
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import {
  AUTHENTICATION,
  startService,
  type TestService,
  TOKEN,
  WORKSPACE_ID
} from "../support/service.ts"
import { assertPerformed, assertRefused, type Code } from "./expectations.ts"
import { createWorkspace, issueToken, revokeToken } from "./otherCallers.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

describe("the two headers", () => {
  const refused: ReadonlyArray<[string, Record<string, string>, Code]> = [
    ["no token", { "X-Proxy-Token": "" }, "UNAUTHORIZED"],
    ["a token in other case", { "X-Proxy-Token": TOKEN.toUpperCase() }, "UNAUTHORIZED"],
    ["a token cut short", { "X-Proxy-Token": TOKEN.slice(0, -1) }, "UNAUTHORIZED"],
    ["a token twice", { "X-Proxy-Token": `${TOKEN}, ${TOKEN}` }, "UNAUTHORIZED"],
    ["a token with Unicode", { "X-Proxy-Token": `${TOKEN}\u00e9` }, "UNAUTHORIZED"],
    ["a token of 8,000 characters", { "X-Proxy-Token": "x".repeat(8_000) }, "UNAUTHORIZED"],
    ["a bad checksum", { "X-Proxy-Token": `wlt_${"0".repeat(39)}` }, "UNAUTHORIZED"],
    ["D13: no workspace", { "X-Workspace-Id": "" }, "FORBIDDEN"],
    ["D13: no UUID", { "X-Workspace-Id": "default" }, "FORBIDDEN"],
    ["D13: a UUID in braces", { "X-Workspace-Id": `{${WORKSPACE_ID}}` }, "FORBIDDEN"],
    ["D13: without dashes", { "X-Workspace-Id": WORKSPACE_ID.replaceAll("-", "") }, "FORBIDDEN"],
    ["D13: twice", { "X-Workspace-Id": `${WORKSPACE_ID}, ${WORKSPACE_ID}` }, "FORBIDDEN"],
    ["an unknown workspace", { "X-Workspace-Id": crypto.randomUUID() }, "FORBIDDEN"]
  ]
  it.each(refused)("%s", async (_name, headers, code) => {
    for (const path of ["/status", "/nowhere"])
      assertRefused(await service.get(path, headers), code)
    assertRefused(await service.perform({ op: "capture", body: "x" }, headers), code)
  })

  it("a workspace in capital letters is the same workspace", async () => {
    const reply = await service.get("/status", { "X-Workspace-Id": WORKSPACE_ID.toUpperCase() })
    assert.strictEqual(reply.status, 200)
  })

  it("a revoked token ends at once", async () => {
    const { id, token } = await issueToken(service)
    const headers = { "X-Proxy-Token": token }
    assert.strictEqual((await service.get("/status", headers)).status, 200)
    await revokeToken(service, id)
    assertRefused(await service.get("/status", headers), "UNAUTHORIZED")
    assertRefused(await service.perform({ op: "capture", body: "x" }, headers), "UNAUTHORIZED")
  })
})

describe("D21, D25: actors and roles", () => {
  it.each([
    ["human:jane", "human:jane"],
    [null, undefined]
  ])("a token with the label %j", async (label, actor) => {
    const { prefix, token } = await issueToken(service, { label, role: "member" })
    const headers = { "X-Proxy-Token": token }
    const reply = await service.perform(
      { op: "commit", title: "x", actor: "human:mallory" },
      headers
    )
    const id = assertPerformed(reply)
    const [entry] = (await service.get(`/commitments/${id}`, headers)).body.data.history
    assert.strictEqual(entry.actor, actor ?? `token:${prefix}`)
  })

  it("a member reads, writes and registers webhooks, and may not use the settings", async () => {
    const { token } = await issueToken(service, { role: "member" })
    const headers = { "X-Proxy-Token": token }
    const webhook = { op: "webhook.register", url: "https://receiver.test/m", secret: "s" }
    assert.match(assertPerformed(await service.perform(webhook, headers)), /^whk_/)
    assertPerformed(await service.perform({ op: "capture", body: "x" }, headers))
    const settings = await service.get("/trpc/settings.tokens.list", headers)
    assert.strictEqual(settings.status, 403)
    assert.strictEqual(settings.body.error.data.code, "FORBIDDEN")
  })
})

describe("D14: webhook.register by the two headers or by a bearer token", () => {
  const bearer = { Authorization: `Bearer ${TOKEN}` }
  const webhook = {
    op: "webhook.register",
    url: "https://receiver.test/hook",
    secret: "s",
    workspaceId: WORKSPACE_ID
  }
  const send = async (headers: Record<string, string>, operation: object, path = "/ops") => {
    const response = await fetch(`${service.baseUrl}${path}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(operation)
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  it("the same URL again updates that endpoint", async () => {
    const { workspaceId: _, ...fields } = webhook
    const first = assertPerformed(await send(AUTHENTICATION, fields))
    assert.match(first, /^whk_[0-9a-z]{26}$/)
    assert.strictEqual(assertPerformed(await send(bearer, webhook)), first)
    const other = await send(bearer, { ...webhook, url: "https://receiver.test/other" })
    assert.notStrictEqual(assertPerformed(other), first)
  })

  it("bearer is good with the workspace in the body or in the header, in any letter case", async () => {
    const { workspaceId: _, ...fields } = webhook
    assertPerformed(await send({ authorization: `bearer ${TOKEN}` }, webhook))
    assertPerformed(await send({ ...bearer, "X-Workspace-Id": WORKSPACE_ID }, fields))
    const upper = { ...webhook, workspaceId: WORKSPACE_ID.toUpperCase() }
    assertPerformed(await send(bearer, upper))
  })

  it("bearer without any workspace is 400, with another one 403", async () => {
    const { workspaceId: _, ...fields } = webhook
    assertRefused(await send(bearer, fields), "INVALID_REQUEST", ["workspaceId"])
    assertRefused(await send(bearer, { ...webhook, workspaceId: null }), "INVALID_REQUEST")
    for (const workspaceId of [crypto.randomUUID(), "default"]) {
      assertRefused(await send(bearer, { ...webhook, workspaceId }), "FORBIDDEN")
      assertRefused(await send(AUTHENTICATION, { ...webhook, workspaceId }), "FORBIDDEN")
    }
    const other = await createWorkspace(service)
    assertRefused(
      await send({ ...bearer, "X-Workspace-Id": other["X-Workspace-Id"] }, webhook),
      "FORBIDDEN"
    )
  })

  it("an invalid bearer is 401, and one beside an invalid X-Proxy-Token does not help", async () => {
    const invalid = ["Bearer ", "Bearer x", `Basic ${TOKEN}`, TOKEN, `Bearer ${TOKEN} x`]
    for (const Authorization of invalid) {
      assertRefused(await send({ Authorization }, webhook), "UNAUTHORIZED")
    }
    const both = { ...bearer, "X-Proxy-Token": "x".repeat(40), "X-Workspace-Id": WORKSPACE_ID }
    assertRefused(await send(both, webhook), "UNAUTHORIZED")
  })

  it("bearer is good for nothing else", async () => {
    const headers = { ...bearer, "X-Workspace-Id": WORKSPACE_ID }
    for (const op of ["capture", "claim", "webhook.delete", "", 1, undefined]) {
      assertRefused(await send(headers, { ...webhook, op, body: "x" }), "UNAUTHORIZED")
      assertRefused(await send(bearer, { ...webhook, op, body: "x" }), "UNAUTHORIZED")
    }
    for (const path of ["/status", "/commitments", "/nowhere", "/ops/"]) {
      const response = await fetch(`${service.baseUrl}${path}`, { headers })
      assert.strictEqual(response.status, 401, path)
      assertRefused({ status: 401, body: await response.json() }, "UNAUTHORIZED")
    }
    const get = await fetch(`${service.baseUrl}/ops`, { headers })
    assertRefused({ status: get.status, body: await get.json() }, "UNAUTHORIZED")
  })
})
