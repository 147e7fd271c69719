// When two errors apply, the earlier one of D11 is answered: each pair of neighbours, and every pair,
// in one table. Then who is let in: the two headers, bearer tokens (D13, D14), roles (D25), actors (D21).
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { AUTHENTICATION, startService, TOKEN, type TestService, WORKSPACE_ID } from "../support/service.ts"
import { assertPerformed, assertRefused, type Code, STATUS_OF_CODE } from "./expectations.ts"
import { createWorkspace, issueToken, revokeToken } from "./otherCallers.ts"
import { commitmentIn, UNKNOWN_COMMITMENT } from "./records.ts"

let service: TestService
let closed: string
beforeAll(async () => {
  service = await startService()
  closed = await commitmentIn(service, "closed by both")
})
afterAll(() => service.stop())

/** A request as its parts; each fault spoils one. */
interface Draft {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly operation: object
  readonly text?: string
}

const sound = (): Draft => ({
  method: "POST",
  path: "/ops",
  headers: { ...AUTHENTICATION, "Content-Type": "application/json" },
  operation: { op: "close", id: closed, result: "pass", evidence: [] }
})

interface Fault {
  readonly name: string
  readonly code: Code
  readonly status?: number
  /** What its message has, so that faults of one code are told apart. */
  readonly part: string
  readonly spoil: (draft: Draft) => Draft
}

const withHeader = (draft: Draft, name: string, value: string): Draft => ({
  ...draft,
  headers: { ...draft.headers, [name]: value }
})
const withFields = (draft: Draft, fields: object): Draft => ({
  ...draft,
  operation: { ...draft.operation, ...fields }
})

/** D11, in its order. A wrong path or method leaves no body to look at, so both stand as they are. */
const FAULTS: ReadonlyArray<Fault> = [
  {
    name: "invalid token",
    code: "UNAUTHORIZED",
    part: "token",
    spoil: (draft) => withHeader(draft, "X-Proxy-Token", "nobody's-token-0123456789abcdefgh")
  },
  {
    name: "foreign workspace",
    code: "FORBIDDEN",
    part: "X-Workspace-Id",
    spoil: (draft) =>
      withHeader(draft, "X-Workspace-Id", "0190c0de-0000-7000-8000-000000000002")
  },
  {
    name: "unknown path",
    code: "NOT_FOUND",
    part: "/nowhere",
    spoil: (draft) => ({ ...draft, path: "/nowhere" })
  },
  {
    name: "wrong method",
    code: "INVALID_REQUEST",
    status: 405,
    part: "PUT",
    spoil: (draft) => ({ ...draft, method: "PUT" })
  },
  {
    name: "content type",
    code: "INVALID_REQUEST",
    part: "Content-Type",
    spoil: (draft) => withHeader(draft, "Content-Type", "text/plain")
  },
  {
    name: "body too large",
    code: "INVALID_REQUEST",
    part: "larger",
    spoil: (draft) => ({ ...draft, text: " ".repeat(1024 * 1024 + 1) })
  },
  {
    name: "malformed JSON",
    code: "INVALID_REQUEST",
    part: "JSON",
    spoil: (draft) => ({ ...draft, text: draft.text ?? "{bad" })
  },
  {
    name: "unknown operation",
    code: "INVALID_REQUEST",
    part: "Unknown operation",
    spoil: (draft) => withFields(draft, { op: "closed" })
  },
  {
    name: "ill-typed field",
    code: "INVALID_REQUEST",
    part: '"summary"',
    spoil: (draft) => withFields(draft, { summary: 1 })
  },
  {
    name: "missing evidence",
    code: "VALIDATION_ERROR",
    part: "empty array",
    spoil: (draft) => withFields(draft, { evidence: undefined })
  },
  {
    name: "unknown record",
    code: "NOT_FOUND",
    part: UNKNOWN_COMMITMENT,
    spoil: (draft) => withFields(draft, { id: UNKNOWN_COMMITMENT })
  },
  { name: "state", code: "VALIDATION_ERROR", part: '"closed"', spoil: (draft) => draft }
]

const send = ({ headers, method, operation, path, text }: Draft) =>
  service.request(path, { method, headers, body: text ?? JSON.stringify(operation) })

describe("D11: of two faults the earlier is answered", () => {
  const pairs = FAULTS.flatMap((first, index) =>
    FAULTS.slice(index + 1).map((second) => ({ first, second, name: `${first.name} > ${second.name}` }))
  )
  it.each(pairs)("$name", async ({ first, second }) => {
    const reply = await send(first.spoil(second.spoil(sound())))
    const status = first.status ?? STATUS_OF_CODE[first.code]
    assertRefused(reply, first.code, [first.part], status)
  })
})

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
    for (const path of ["/status", "/nowhere"]) assertRefused(await service.get(path, headers), code)
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
    const reply = await service.perform({ op: "commit", title: "x", actor: "human:mallory" }, headers)
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
