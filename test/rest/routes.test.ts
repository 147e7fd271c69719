// Paths, methods and headers: what is there, what is 404, what is 405 with `Allow` (D12, D24, D27),
// and that two workspaces know nothing of each other.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { AUTHENTICATION, startService, type TestService } from "../support/service.ts"
import { assertRefused } from "./expectations.ts"
import { createWorkspace } from "./otherCallers.ts"
import { commitmentIn, memoryIn } from "./records.ts"

let service: TestService
let commitment: string
let memory: string
beforeAll(async () => {
  service = await startService()
  commitment = await commitmentIn(service)
  memory = await memoryIn(service)
})
afterAll(() => service.stop())

const pathOf = (path: string) => path.replace("cmt_x", commitment).replace("mem_x", memory)

const READS = ["/status", "/commitments", "/commitments/cmt_x", "/memories", "/memories/mem_x"]

describe("a method that a path does not have is 405 with Allow", () => {
  it.each(READS)("%s", async (path) => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PROPFIND"]) {
      const reply = await service.request(pathOf(path), { method })
      assertRefused(reply, "INVALID_REQUEST", [method], 405)
      assert.strictEqual(reply.headers.get("Allow"), "GET, HEAD")
    }
  })

  it.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s /ops", async (method) => {
    const reply = await service.request("/ops", { method })
    assert.strictEqual(reply.status, 405)
    assert.strictEqual(reply.headers.get("Allow"), "POST")
    if (method !== "HEAD") assertRefused(reply, "INVALID_REQUEST", [method], 405)
  })
})

it.each(READS)("HEAD %s is GET without the body", async (path) => {
  const get = await service.request(pathOf(path))
  const head = await service.request(pathOf(path), { method: "HEAD" })
  assert.deepStrictEqual([head.status, head.body], [200, undefined])
  for (const name of ["Content-Type", "Content-Length", "Ledger-Version", "Ledger-Time"]) {
    assert.strictEqual(head.headers.get(name), get.headers.get(name), name)
  }
})

describe("a path that is not the spec's is 404", () => {
  it.each([
    ...[
      "/",
      "/op",
      "/ops/",
      "/ops/1",
      "/OPS",
      "//ops",
      "/ops%2f",
      "/ops%00",
      "/api/ops",
      "/v1/status"
    ],
    ...["/status/", "/Status", "/status/x", "/commitments/", "/commitments//", "/COMMITMENTS"],
    ...["/commitments%2F", "/memories%2F", "/commitments%2f%2e", "/commitments/cmt_x/"],
    ...[
      "/commitments/cmt_x/history",
      "/commitments/cmt_x%2F",
      "/memories/mem_x/x",
      "/memory/mem_x"
    ],
    ...["/commitments/%00", "/commitments/%2e%2e%2fstatus", "/favicon.ico", "/openapi.json"],
    ...["/metrics", "/healthz", "/%E2%82%AC", "/.", "/.git/config", "/__proto__", "/constructor"],
    `/${"x".repeat(2_000)}`
  ])("%s", async (path) => {
    for (const method of ["GET", "POST", "HEAD", "OPTIONS", "DELETE"]) {
      const reply = await service.request(pathOf(path), { method })
      assert.strictEqual(reply.status, path.startsWith("/commitments/") ? reply.status : 404)
      assert.include([404, 405], reply.status, `${method} ${path}`)
      if (reply.status === 404 && method !== "HEAD") assertRefused(reply, "NOT_FOUND")
    }
  })

  it("and an id that is escaped is the id", async () => {
    const reply = await service.get(`/commitments/cmt%5F${commitment.slice(4)}`)
    assert.strictEqual(reply.body.data.id, commitment)
  })

  it.each(["/%zz", "/commitments/%", "/commitments/%C0%80"])(
    "%s, no percent escape, is 400",
    async (path) => {
      assertRefused(await service.get(path), "INVALID_REQUEST", ["percent"])
    }
  )
})

describe("every answer", () => {
  const rows = [
    ["/status", 200],
    ["/nowhere", 404],
    ["/commitments?limit=0", 400],
    ["/ops", 405]
  ] as const
  it.each(rows)("D24: %s (%d) says the version and is JSON", async (path, status) => {
    const { headers, status: answered } = await service.get(path)
    assert.strictEqual(answered, status)
    assert.match(headers.get("Ledger-Version") ?? "", /^\d+\.\d+\.\d+$/)
    assert.strictEqual(headers.get("Content-Type"), "application/json; charset=utf-8")
    assert.strictEqual(headers.get("Cache-Control"), "no-store")
    assert.isNull(headers.get("X-Powered-By"))
    assert.isNull(headers.get("Server"))
  })

  it.each([
    { Accept: "text/html" },
    { Accept: "application/xml" },
    { Accept: "*/*;q=0" },
    { Range: "bytes=0-1" },
    { "If-None-Match": "*" },
    { "If-Modified-Since": "Fri, 20 Nov 2099 00:00:00 GMT" },
    { "X-HTTP-Method-Override": "DELETE" },
    { Cookie: "a=b" },
    { Origin: "https://evil.test" }
  ])("is the same with %j", async (headers) => {
    const { body, headers: answered, status } = await service.get("/status", headers)
    assert.deepStrictEqual([status, body.success], [200, true])
    assert.isNull(answered.get("Access-Control-Allow-Origin"))
  })
})

it("D27: nothing is anonymous, whatever the path and the method", async () => {
  for (const path of [...READS, "/ops", "/", "/nowhere", "/favicon.ico", "/%zz"]) {
    for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
      const response = await fetch(`${service.baseUrl}${pathOf(path)}`, { method })
      assert.strictEqual(response.status, 401, `${method} ${path}`)
      await response.body?.cancel()
    }
  }
})

describe("two workspaces know nothing of each other", () => {
  const everything = async (headers: Record<string, string>) => ({
    status: (await service.get("/status", headers)).body,
    commitments: (await service.get("/commitments", headers)).body,
    memories: (await service.get("/memories?status=all", headers)).body
  })

  it("neither reads nor changes what is in the other", async () => {
    const other = await createWorkspace(service, "the other one")
    const theirs = await everything(other)
    const ours = await everything({})
    assert.strictEqual(theirs.status.data.ledger.total_operations, 0)
    assert.strictEqual(theirs.commitments.pagination.total, 0)
    for (const path of [`/commitments/${commitment}`, `/memories/${memory}`]) {
      assertRefused(await service.get(path, other), "NOT_FOUND", [path.split("/").at(-1) ?? ""])
    }
    const foreign = [
      { op: "claim", id: commitment, owner: "thief" },
      { op: "annotate", id: commitment, body: "was here" },
      { op: "dismiss", id: memory },
      { op: "link", id: memory, target: commitment },
      { op: "commit", title: "x", source: memory }
    ]
    for (const operation of foreign) {
      assertRefused(await service.perform(operation, other), "NOT_FOUND")
    }
    assert.deepStrictEqual(await everything(other), theirs)
    assert.deepStrictEqual(await everything({}), ours)
    const receipt = await service.perform({ op: "capture", body: "mine" }, other)
    assert.strictEqual(receipt.status, 200)
    const target = await service.perform(
      { op: "link", id: receipt.body.record_id, target: commitment },
      other
    )
    assertRefused(target, "NOT_FOUND", [commitment])
    assert.deepStrictEqual(await everything({}), ours)
  })

  it("a token of one is 403 in the other", async () => {
    const other = await createWorkspace(service)
    const mixed = { ...AUTHENTICATION, "X-Workspace-Id": other["X-Workspace-Id"] }
    assertRefused(await service.get("/status", mixed), "FORBIDDEN")
    assertRefused(await service.perform({ op: "capture", body: "x" }, mixed), "FORBIDDEN")
  })
})
