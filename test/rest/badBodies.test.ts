// Bad bodies of `POST /ops`: sizes, encodings, and JSON that is none or is not an operation.
import { gzipSync } from "node:zlib"
import { afterAll, afterEach, assert, beforeAll, describe, it } from "vitest"
import { exchange, rawOperation, rawRequest } from "../support/rawHttp.ts"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused, operationCount } from "./expectations.ts"

const LIMIT = 1024 * 1024

let service: TestService
let entries: number
beforeAll(async () => {
  service = await startService()
  entries = await operationCount(service)
})
afterAll(() => service.stop())
afterEach(async () => {
  assert.strictEqual(await operationCount(service), entries)
})

const send = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  service.request("/ops", {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body
  })

describe("6: sizes", () => {
  const padded = (size: number) => '{"op":"capture","body":"x"}'.padEnd(size, " ")

  it.each([LIMIT - 1, LIMIT])("%d bytes are accepted", async (size) => {
    assertPerformed(await send(padded(size)))
    entries += 1
  })

  it.each([LIMIT + 1, LIMIT * 2, LIMIT * 30])("%d bytes are 400, every time", async (size) => {
    const body = padded(size)
    for (let time = 0; time < 5; time++) {
      assertRefused(await send(body), "INVALID_REQUEST", [String(LIMIT)])
    }
  })

  it("30 MiB in chunks with no length are 400, and the connection is closed", async () => {
    const chunk = `${(64 * 1024).toString(16)}\r\n${" ".repeat(64 * 1024)}\r\n`
    const bytes = rawRequest(
      "POST /ops HTTP/1.1",
      ["Content-Type: application/json", "Transfer-Encoding: chunked"],
      `${chunk.repeat(480)}0\r\n\r\n`
    )
    const { closed, replies } = await exchange(service.baseUrl, bytes)
    assert.isTrue(closed)
    assertRefused(replies[0] ?? assert.fail("no answer"), "INVALID_REQUEST", [String(LIMIT)])
  })

  it("a large body without a valid token is 401, every time", async () => {
    const body = padded(LIMIT - 1)
    for (let time = 0; time < 5; time++) {
      assertRefused(await send(body, { "X-Proxy-Token": "x".repeat(40) }), "UNAUTHORIZED")
    }
  })

  it("7: a compressed body is refused, not unpacked", async () => {
    const bomb = new Uint8Array(gzipSync(Buffer.alloc(50 * LIMIT)))
    assertRefused(await send(bomb, { "Content-Encoding": "gzip" }), "INVALID_REQUEST", [
      "Content-Encoding"
    ])
  })
})

describe("9: encodings other than UTF-8", () => {
  const capture = '{"op":"capture","body":"'
  const withBytes = (...bytes: ReadonlyArray<number>) =>
    Buffer.concat([Buffer.from(capture), Buffer.from(bytes), Buffer.from('"}')])
  it.each([
    ["a byte order mark", Buffer.from(`\ufeff${capture}"}`)],
    ["UTF-16, little end first", Buffer.from(`${capture}"}`, "utf16le")],
    ["UTF-16 with its mark", Buffer.from(`\ufeff${capture}"}`, "utf16le")],
    ["an overlong NUL", withBytes(0xc0, 0x80)],
    ["an overlong slash", withBytes(0xe0, 0x80, 0xaf)],
    ["a surrogate in UTF-8", withBytes(0xed, 0xa0, 0x80)],
    ["a byte that is none", withBytes(0xff)],
    ["a continuation byte alone", withBytes(0x80)],
    ["a sequence cut short", withBytes(0xe2, 0x82)],
    ["beyond Unicode", withBytes(0xf4, 0x90, 0x80, 0x80)],
    ["a NUL byte", withBytes(0)],
    ["a raw line feed in a string", withBytes(10)]
  ])("%s is 400", async (_name, body) => {
    const { replies } = await exchange(service.baseUrl, rawOperation(body), { answers: 1 })
    assertRefused(replies[0] ?? assert.fail("no answer"), "INVALID_REQUEST", ["JSON"])
  })
})

describe("10: what is no JSON object", () => {
  it.each([
    ...["", " ", "null", "true", "1", '"claim"', "[]", "[{}]", '[{"op":"capture","body":"x"}]'],
    ...["{bad", "{'op':1}", '{"op":"capture","body":"x",}', '{"op":/**/"capture"}', "NaN"],
    ...["Infinity", "{", "}", '{"op"', '{"op":}', '{"op":"capture" "body":"x"}', "\\u007b}"],
    ...['{"op":"claim"}{"op":"claim"}', '{"op":"capture","body":"x"}x', "op=capture&body=x"],
    ...['{"op":"capture","body":"\\x"}', '{"op":"capture","body":"\\ud83"}', "0x10", "01", "-"],
    ...["undefined", "<op>capture</op>", "\u00a0{}"]
  ])("%s is 400", async (body) => {
    assertRefused(await send(body), "INVALID_REQUEST", ["JSON"])
  })

  it("an object without anything is 400 and names op", async () => {
    assertRefused(await send("{}"), "INVALID_REQUEST", ['"op"'])
  })
})

describe("12: deep and wide", () => {
  const deep = (levels: number, open: string, close: string) =>
    open.repeat(levels) + (open === "[" ? "" : "1") + close.repeat(levels)
  const places = [
    (value: string) => value,
    (value: string) => `{"op":"capture","body":"x","ignored":${value}}`,
    (value: string) => `{"op":"capture","body":"x","meta":{"a":${value}}}`,
    (value: string) =>
      `{"op":"close","id":"x","result":"pass","evidence":[{"type":"x","y":${value}}]}`
  ]
  it.each([65, 1_000, 5_000, 100_000])("%d levels are 400", async (levels) => {
    for (const place of places) {
      for (const value of [deep(levels, "[", "]"), deep(levels, '{"a":', "}")]) {
        assertRefused(await send(place(value)), "INVALID_REQUEST")
      }
    }
  })

  it("a hundred thousand keys, and as many elements, are an ordinary body", async () => {
    const keys = Array.from({ length: 80_000 }, (_, index) => `"k${index}":1`).join(",")
    const meta = `{"op":"capture","body":"x","meta":{${keys}}}`
    const elements = `{"op":"capture","body":"x","ignored":[${"1,".repeat(500_000)}1]}`
    const name = `{"op":"capture","body":"x","${"k".repeat(1_000_000)}":1}`
    for (const body of [meta, elements, name]) {
      assertPerformed(await send(body))
      entries += 1
    }
  })
})
