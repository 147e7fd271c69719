// Bad input at the level of bytes and HTTP: whatever arrives, the answer is the spec's envelope with no
// 5xx and no word of a library, nothing is performed, and the service goes on.
import { afterAll, afterEach, assert, beforeAll, describe, it } from "vitest"
import { exchange, leaveOpen, type RawReply, rawOperation, rawRequest } from "../support/rawHttp.ts"
import { AUTHENTICATION, startService, type TestService } from "../support/service.ts"
import {
  assertErrorBody,
  assertNothingInternal,
  assertPerformed,
  operationCount
} from "./expectations.ts"

let service: TestService
let entries: number
beforeAll(async () => {
  service = await startService()
  entries = await operationCount(service)
})
afterAll(() => service.stop())

/** After every row: alive, and nothing was written that the row did not announce. */
afterEach(async () => {
  assert.strictEqual(await operationCount(service), entries)
})

const assertEnvelope = (reply: RawReply) => {
  assertNothingInternal(reply.text)
  assert.isBelow(reply.status, 500)
  if (reply.status < 400) return
  assertErrorBody(reply.body)
  assert.strictEqual(reply.headers["content-type"], "application/json; charset=utf-8")
}

/** Sends the bytes once; the statuses of the answers must be these, each one of those given. */
const expectStatuses = async (
  bytes: Buffer | string,
  statuses: ReadonlyArray<number | ReadonlyArray<number>>,
  end = false
) => {
  const options = end ? { end } : { answers: statuses.length }
  const { replies } = await exchange(service.baseUrl, bytes, options)
  for (const reply of replies) assertEnvelope(reply)
  const shown = replies.map((reply) => `${reply.status} ${reply.text.slice(0, 100)}`).join(" / ")
  assert.lengthOf(replies, statuses.length, shown)
  for (const [index, status] of statuses.entries()) {
    assert.include([status].flat(), replies[index]?.status, shown)
  }
  return replies
}

const capture = '{"op":"capture","body":"x"}'

describe("1: request targets", () => {
  it.each([
    ["GET http://[", 400],
    ["GET http://", 400],
    ["GET http://[::1", 400],
    ["GET https:///", 400],
    ["GET status", 400],
    ["GET", 400],
    ["OPTIONS *", [400, 404, 405]],
    ["CONNECT x:1", [400, 405]],
    ["TRACE /ops", 405],
    ["TRACE /status", 405],
    ["GET //ops", 404],
    ["GET /%", 400],
    ["GET /%00", 404],
    ["GET /%zz", 400],
    ["GET /ops/../status", 404],
    ["GET /commitments/..", 404],
    ["GET /ops%2f", 404],
    ["GET /commitments/%2e%2e", 404],
    ["GET /status#x", [200, 400]],
    ["GET /status?", 200],
    ["GET http://evil.test/status", 200],
    ["GET http://evil.test:99999/status", 200],
    ["GET \\status", 400],
    ["GET /\u00ff\u00fe", [400, 404]],
    ["GET /status\u0000", 400]
  ])("%s", async (line, status) => {
    await expectStatuses(rawRequest(`${line} HTTP/1.1`), [status])
  })
})

describe("2: hosts, versions and sizes of heads", () => {
  const authentication = Object.entries(AUTHENTICATION).map(([name, value]) => `${name}: ${value}`)
  const head = (...lines: ReadonlyArray<string>) =>
    [...lines, ...authentication, "", ""].join("\r\n")
  it.each([
    ["no Host", head("GET /status HTTP/1.1"), 400],
    ["no Host in HTTP/1.0", head("GET /status HTTP/1.0"), 200],
    ["two Hosts", head("GET /status HTTP/1.1", "Host: a", "Host: b"), [200, 400]],
    ["another Host", head("GET /status HTTP/1.1", "Host: evil.test"), 200],
    ["a Host that is none", head("GET /status HTTP/1.1", "Host: [ \\ @"), [200, 400]],
    ["a method in small letters", head("get /status HTTP/1.1", "Host: a"), 400],
    ["an unknown method", head("NOTHING /status HTTP/1.1", "Host: a"), 400],
    ["HTTP/2.0", head("GET /status HTTP/2.0", "Host: a"), [200, 400]],
    ["HTTP/9", head("GET /status HTTP/9", "Host: a"), 400],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["a TLS greeting", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003", 400],
    ["nonsense", "hello\r\n\r\n", 400],
    ["a path of 8 kB", head(`GET /${"x".repeat(8_000)} HTTP/1.1`, "Host: a"), 404],
    ["a header of 20 kB", head("GET /status HTTP/1.1", `X: ${"x".repeat(20_000)}`), 400],
    ["a path of 20 kB", head(`GET /${"x".repeat(20_000)} HTTP/1.1`), 400],
    [
      "2,001 headers",
      head("GET /status HTTP/1.1", "Host: a", ...Array.from({ length: 2_001 }, () => "a:")),
      [200, 400, 401, 403]
    ],
    ["a header without a name", head("GET /status HTTP/1.1", "Host: a", ": x"), 400],
    ["a header with a space in its name", head("GET /status HTTP/1.1", "Host : a"), 400],
    ["a NUL in a header", head("GET /status HTTP/1.1", "Host: a", "X: a\u0000b"), 400],
    [
      "an upgrade",
      head("GET /status HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket"),
      [200, 400]
    ]
  ])("%s", async (_name, bytes, status) => {
    await expectStatuses(Buffer.from(bytes, "latin1"), [status])
  })
})

describe("3: framing", () => {
  const post = (lines: ReadonlyArray<string>, body: string) =>
    rawRequest("POST /ops HTTP/1.1", ["Content-Type: application/json", ...lines], body)
  const chunked = "Transfer-Encoding: chunked"
  it.each([
    ["length and chunks", post(["Content-Length: 5", chunked], "0\r\n\r\n"), 400],
    ["two lengths", post(["Content-Length: 5", "Content-Length: 6"], "{    }"), 400],
    ["a list of lengths", post(["Content-Length: 2, 2"], "{}"), 400],
    ["a negative length", post(["Content-Length: -1"], "{}"), 400],
    ["a length with a sign", post(["Content-Length: +2"], "{}"), 400],
    ["a hexadecimal length", post(["Content-Length: 0x2"], "{}"), 400],
    ["an endless length", post([`Content-Length: ${"9".repeat(30)}`], "{}"), 400],
    ["an unknown coding", post(["Transfer-Encoding: xchunked"], "0\r\n\r\n"), 400],
    ["two codings", post(["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"), 400],
    ["a bad chunk size", post([chunked], "zz\r\n{}\r\n0\r\n\r\n"), 400],
    ["a huge chunk size", post([chunked], `${"f".repeat(17)}\r\n{}`), 400],
    ["a chunk without its end", post([chunked], "2\r\n{}xx0\r\n\r\n"), 400],
    ["chunk extensions", post([chunked], "2;a=b\r\n{}\r\n0\r\n\r\n"), 400],
    ["no length at all", post([], ""), 400],
    ["a folded header", post(["X: a", " b", "Content-Length: 2"], "{}"), 400]
  ])("%s", async (_name, bytes, status) => {
    await expectStatuses(bytes, [status])
  })

  it("lines that end in a bare line feed", async () => {
    const bytes = rawRequest("GET /status HTTP/1.1").toString().replaceAll("\r\n", "\n")
    await expectStatuses(bytes, [[200, 400]], true)
  })

  it.each([
    ["the last chunk is missing", post([chunked], `1b\r\n${capture}\r\n`)],
    ["the body is shorter than its length", post(["Content-Length: 100"], capture)]
  ])("%s: nothing is performed", async (_name, bytes) => {
    const { replies } = await exchange(service.baseUrl, bytes, { end: true })
    for (const reply of replies) {
      assertEnvelope(reply)
      assert.strictEqual(reply.status, 400)
    }
  })
})

describe("4, 5: bodies and connections that end otherwise than they said", () => {
  it("what is longer than its length is answered by itself, after the operation", async () => {
    const bytes = Buffer.concat([rawOperation(capture), Buffer.from("x".repeat(100))])
    const { replies } = await exchange(service.baseUrl, bytes)
    entries += 1
    assert.deepStrictEqual(
      replies.map((reply) => reply.status),
      [200, 400]
    )
  })

  it("100-continue is said after the head was accepted, and not before", async () => {
    const lines = ["Content-Type: application/json", "Content-Length: 2", "Expect: 100-continue"]
    const head = rawRequest("POST /ops HTTP/1.1", lines)
    const { replies } = await exchange(service.baseUrl, head, { answers: 2, afterFirst: "{}" })
    assert.deepStrictEqual(
      replies.map((reply) => reply.status),
      [100, 400]
    )
    const anonymous = head.toString().replace(/X-Proxy-Token: .*\r\n/, "")
    await expectStatuses(anonymous, [401])
    await expectStatuses(head.toString().replace("100-continue", "a miracle"), [400])
  })

  it("a hundred requests in one write are answered in their order", async () => {
    const paths = Array.from({ length: 100 }, (_, index) => `/commitments/nothing-${index}`)
    const bytes = Buffer.concat(paths.map((path) => rawRequest(`GET ${path} HTTP/1.1`)))
    const replies = await expectStatuses(
      bytes,
      Array.from({ length: 100 }, () => 404)
    )
    for (const [index, reply] of replies.entries()) {
      assert.include(reply.text, `nothing-${index}\\"`)
    }
  })

  it("a caller that leaves and asks again with its key is not served twice", async () => {
    const bytes = rawOperation(capture, ["Idempotency-Key: left early"])
    for (let time = 0; time < 5; time++) {
      const leave = await leaveOpen(service.baseUrl, bytes)
      leave()
    }
    assertPerformed(await service.perform(JSON.parse(capture), { "Idempotency-Key": "left early" }))
    entries += 1
  })

  it("five hundred idle connections stop nobody", async () => {
    const idle = await Promise.all(
      Array.from({ length: 500 }, () => leaveOpen(service.baseUrl, "GET /status HTTP/1.1\r\nHo"))
    )
    assert.strictEqual((await service.get("/status")).status, 200)
    for (const leave of idle) leave()
  })
})

describe("7, 8: content codings and media types", () => {
  const send = (lines: ReadonlyArray<string>) =>
    rawRequest("POST /ops HTTP/1.1", [...lines, "Content-Length: 2"], "{}")
  const json = "Content-Type: application/json"
  it.each([
    [["Content-Type: text/plain"]],
    [["Content-Type: "]],
    [[]],
    [["Content-Type: application/x-www-form-urlencoded"]],
    [["Content-Type: multipart/form-data; boundary=x"]],
    [["Content-Type: application/jsonx"]],
    [["Content-Type: application/json+x"]],
    [["Content-Type: application/json, text/plain"]],
    [["Content-Type: application/json; charset=utf-16"]],
    [["Content-Type: text/json"]],
    [["Content-Type: */*"]],
    [[json, "Content-Encoding: gzip"]],
    [[json, "Content-Encoding: br"]],
    [[json, "Content-Encoding: deflate"]],
    [[json, "Content-Encoding: nothing"]],
    [[json, "Content-Encoding: identity, gzip"]]
  ])("%j is 400 and says which header", async (lines) => {
    const [reply] = await expectStatuses(send(lines), [400])
    assert.include(reply?.body.error.message, "Content-")
  })

  it.each([
    [["Content-Type: application/json; charset=utf-8"]],
    [["Content-Type: application/json;charset=UTF-8"]],
    [['Content-Type: application/json; charset="utf-8"']],
    [["Content-Type: APPLICATION/JSON"]],
    [[json, "Content-Encoding: identity"]]
  ])("%j is JSON: the body is what is refused", async (lines) => {
    const [reply] = await expectStatuses(send(lines), [400])
    assert.include(reply?.body.error.message, '"op"')
  })
})
