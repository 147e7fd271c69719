// Clients that shut down their writing side once they have said everything, as `nc -N` does: a whole
// request is answered, and half of one lets the connection go.
import { once } from "node:events"
import * as net from "node:net"
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { whileHeld } from "../faults/database.ts"
import { exchange, rawOperation, rawRequest, startTalk } from "../support/rawHttp.ts"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused } from "./expectations.ts"

const capture = '{"op":"capture","body":"the last word"}'
const get = (path: string, lines: ReadonlyArray<string> = []) =>
  rawRequest(`GET ${path} HTTP/1.1`, lines)
const post = (path: string, lines: ReadonlyArray<string>, body: string) =>
  rawRequest(`POST ${path} HTTP/1.1`, ["Content-Type: application/json", ...lines], body)
const inChunks = post(
  "/ops",
  ["Transfer-Encoding: chunked"],
  `${capture.length.toString(16)}\r\n${capture}\r\n0\r\n\r\n`
)

describe.each([
  ["TCP", "off"],
  ["TLS", "local"]
])("D38: over %s, a client that has nothing more to say", (_name, mode) => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ env: { LEDGER_TLS: mode } })
  })
  afterAll(() => service.stop())

  const send = async (bytes: Buffer | string) => {
    const { closed, replies } = await exchange(service.baseUrl, bytes, { end: true })
    assert.isTrue(closed)
    return replies
  }
  const sendOne = async (bytes: Buffer | string) => {
    const [reply = assert.fail("no answer"), ...others] = await send(bytes)
    assert.lengthOf(others, 0)
    return reply
  }
  const performed = async () => (await sendOne(get("/status"))).body.data.ledger.total_operations

  it.each([
    ["that would keep the connection", get("/status")],
    ["with Connection: close", get("/status", ["Connection: close"])],
    ["of tRPC", get("/trpc/status")]
  ])("GET %s is answered, and the connection is closed", async (_kind, bytes) => {
    assert.strictEqual((await sendOne(bytes)).status, 200)
  })

  it("GET at the operations port is answered, and the connection is closed", async () => {
    const request = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"
    const { closed, replies } = await exchange(service.operationsUrl, request, { end: true })
    assert.isTrue(closed)
    assert.strictEqual(replies[0]?.text, "ready\n")
  })

  it.each([
    ["with its length", rawOperation(capture)],
    ["in chunks", inChunks],
    ["of the largest size", rawOperation(capture.padEnd(1024 * 1024, " "))]
  ])("POST /ops %s is performed once and answered", async (_kind, bytes) => {
    const before = await performed()
    assertPerformed(await sendOne(bytes))
    assert.strictEqual(await performed(), before + 1)
  })

  it("a refusal is answered like anything else", async () => {
    assertRefused(await sendOne(rawOperation("{}")), "INVALID_REQUEST", ['"op"'])
    const unknown = get("/status")
      .toString()
      .replace(/X-Proxy-Token: .*\r\n/, "")
    assertRefused(await sendOne(unknown), "UNAUTHORIZED")
  })

  it("several requests at once are all answered, in their order", async () => {
    const paths = ["/status", "/commitments/nothing", "/memories"]
    const replies = await send(Buffer.concat([...paths.map((path) => get(path)), inChunks]))
    assert.deepStrictEqual(
      replies.map(({ status }) => status),
      [200, 404, 200, 200]
    )
  })

  it.each([
    ["in the middle of a head", get("/status").subarray(0, -2)],
    ["in the middle of a body", post("/ops", ["Content-Length: 100"], capture)],
    ["before the last chunk", inChunks.subarray(0, -5)],
    [
      "in the middle of the body after a whole request",
      Buffer.concat([get("/status"), post("/ops", ["Content-Length: 100"], capture)])
    ]
  ])("%s is let go, and nothing is performed", async (_kind, bytes) => {
    const before = await performed()
    const last = (await send(bytes)).at(-1) ?? assert.fail("no answer")
    assertRefused(last, "INVALID_REQUEST")
    assert.strictEqual(await performed(), before)
  })

  it("is asked now and then whether it still listens, while its answer takes long", async () => {
    const { final, interim } = await whileHeld(service.database.url, async ({ release }) => {
      const talk = startTalk(service.baseUrl, rawOperation(capture))
      talk.end()
      const interim = [(await talk.reply()).status, (await talk.reply()).status]
      await release()
      let final = await talk.reply()
      while (final.status === 102) final = await talk.reply()
      await talk.ended
      return { interim, final }
    })
    assert.deepStrictEqual(interim, [102, 102])
    assertPerformed(final)
  })

  it("that speaks HTTP/1.0 is not asked: it knows no such answers", async () => {
    const old = rawOperation(capture).toString().replace("HTTP/1.1", "HTTP/1.0")
    const replies = await whileHeld(service.database.url, async ({ release, untilAwaited }) => {
      const answered = send(old)
      await untilAwaited()
      await pause(600)
      await release()
      return answered
    })
    assert.deepStrictEqual(
      replies.map(({ status }) => status),
      [200]
    )
  })

  it("in the middle of a body that was refused already gets no second answer", async () => {
    const anonymous = post("/ops", ["Content-Length: 100"], capture)
      .toString()
      .replace(/X-Proxy-Token: .*\r\n/, "")
    const talk = startTalk(service.baseUrl, anonymous)
    assertRefused(await talk.reply(), "UNAUTHORIZED")
    talk.end()
    const second = await talk.reply().catch(() => undefined)
    assert.isUndefined(second)
    await talk.ended
  })

  it("before it has said anything is let go", async () => {
    assert.lengthOf(await send(""), 0)
  })
})

it("a client that is refused and keeps its own side open is let go: a stop need not wait for it", async () => {
  const service = await startService()
  const { hostname, port } = new URL(service.baseUrl)
  const socket = net.connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  try {
    socket.write("this is no HTTP\r\n\r\n")
    socket.resume()
    await once(socket, "end")
    const asked = performance.now()
    await service.stop()
    // Connections that are still there are waited for, two seconds long.
    assert.isBelow(performance.now() - asked, 1_500)
  } finally {
    socket.destroy()
    await service.stop()
  }
})
