// tRPC's own door at the level of bytes: what its adapter must be kept from doing with odd requests.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { assertNothingInternal, operationCount } from "../rest/expectations.ts"
import { exchange, type RawReply, rawRequest } from "../support/rawHttp.ts"
import { startService, type TestService } from "../support/service.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const JSON_TYPE = "Content-Type: application/json"
const post = (body: string | Buffer, lines: ReadonlyArray<string> = []) =>
  rawRequest(
    "POST /trpc/ops HTTP/1.1",
    [JSON_TYPE, `Content-Length: ${Buffer.byteLength(body)}`, ...lines],
    body
  )

/** A refusal in tRPC's envelope with the spec's code, and nothing of a library. */
const assertInvalid = (reply: RawReply | undefined) => {
  assert.isDefined(reply, "no answer")
  assertNothingInternal(reply?.text ?? "")
  const { code, httpStatus } = reply?.body.error.data ?? {}
  assert.deepStrictEqual([code, httpStatus], ["INVALID_REQUEST", reply?.status], reply?.text)
  assert.include([400, 405], reply?.status)
}

describe("a method that no procedure has is refused", () => {
  it.each(["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])("%s", async (method) => {
    const bytes = rawRequest(`${method} /trpc/status HTTP/1.1`)
    const { replies } = await exchange(service.baseUrl, bytes, { answers: 1 })
    assertInvalid(replies[0])
  })
})

describe("odd heads end in an answer", () => {
  it.each([
    ["a Host that is none", "Host: [", [400]],
    ["an empty Host", "Host:", [200, 400]],
    ["another Host", "Host: evil.test", [200]],
    ["a wish for a stream", "trpc-accept: application/jsonl", [200, 400]],
    ["a wish for events", "Accept: text/event-stream", [200, 400]]
  ])("%s", async (_name, line, statuses) => {
    const bytes = rawRequest("GET /trpc/status HTTP/1.1", [line])
    const lines = bytes.toString().replace("Host: localhost\r\n", "")
    const { replies } = await exchange(service.baseUrl, line.startsWith("Host") ? lines : bytes, {
      answers: 1
    })
    assert.include(statuses, replies[0]?.status, replies[0]?.text)
  })

  it.each(["connectionParams=%5B", "batch=1&input=%7Bbad", "batch=1&input=%5B%5D", "input=%7Bbad"])(
    "the query %s",
    async (query) => {
      const bytes = rawRequest(`GET /trpc/commitments.list?${query} HTTP/1.1`)
      const { replies } = await exchange(service.baseUrl, bytes, { answers: 1 })
      assert.isBelow(replies[0]?.status ?? 500, 500, replies[0]?.text)
      assertNothingInternal(replies[0]?.text ?? "")
    }
  )
})

it("a caller who waits for 100-continue is told to go on", async () => {
  const body = '{"op":"capture","body":"x"}'
  const head = rawRequest("POST /trpc/ops HTTP/1.1", [
    JSON_TYPE,
    `Content-Length: ${body.length}`,
    "Expect: 100-continue"
  ])
  const { replies } = await exchange(service.baseUrl, head, { answers: 2, afterFirst: body })
  assert.deepStrictEqual(
    replies.map((reply) => reply.status),
    [100, 200]
  )
})

describe("bodies are as strict as those of REST", () => {
  const capture = (...bytes: ReadonlyArray<number>) =>
    Buffer.concat([Buffer.from('{"op":"capture","body":"'), Buffer.from(bytes), Buffer.from('"}')])
  it.each([
    ["a byte that is no UTF-8", capture(0xff)],
    ["a surrogate in UTF-8", capture(0xed, 0xa0, 0x80)],
    ["malformed JSON", Buffer.from("{bad")],
    ["nothing", Buffer.from("")],
    [
      "65 levels",
      Buffer.from(`{"op":"capture","body":"x","meta":${'{"a":'.repeat(64)}1${"}".repeat(65)}`)
    ],
    ["100,000 levels", Buffer.from("[".repeat(100_000) + "]".repeat(100_000))]
  ])("%s", async (_name, body) => {
    const before = await operationCount(service)
    const { replies } = await exchange(service.baseUrl, post(body), { answers: 1 })
    assertInvalid(replies[0])
    assert.strictEqual(await operationCount(service), before)
  })

  it("a compressed body is refused", async () => {
    const { replies } = await exchange(service.baseUrl, post("{}", ["Content-Encoding: gzip"]), {
      answers: 1
    })
    assertInvalid(replies[0])
  })

  it("a body without end is refused, and its connection is closed", async () => {
    const chunk = `10000\r\n${" ".repeat(65_536)}\r\n`
    const lines = [JSON_TYPE, "Transfer-Encoding: chunked"]
    const bytes = rawRequest("POST /trpc/ops HTTP/1.1", lines, chunk.repeat(160))
    const { replies } = await exchange(service.baseUrl, bytes)
    assertInvalid(replies[0])
  })

  it("a __proto__ key in metadata is kept as an own one", async () => {
    const body = '{"op":"capture","body":"x","meta":{"__proto__":{"a":1},"b":1}}'
    const { replies } = await exchange(service.baseUrl, post(body), { answers: 1 })
    const id = replies[0]?.body.result.data.record_id
    const { meta } = (await service.get(`/memories/${id}`)).body.data
    assert.deepStrictEqual(Object.keys(meta).toSorted(), ["__proto__", "b"])
  })
})
