// What an attempt sends, what it counts as delivered, and which addresses it never dials.
import { once } from "node:events"
import { networkInterfaces } from "node:os"
import { DateTime, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe, it } from "vitest"
import { LOOPBACK_ALLOWED } from "../../src/domain/receiverAddress.ts"
import { issueAuthority, issueServerCertificate } from "../../src/platform/issueCertificate.ts"
import type { Resolver } from "../../src/workers/guardedAgent.ts"
import { WebhookSender } from "../../src/workers/sendWebhook.ts"
import { closedPort, startReceiver } from "../support/receiver.ts"
import { LATENESS_MILLISECONDS, SHORT_TIMEOUT_MILLISECONDS, startSender } from "./sender.ts"

const NOW = DateTime.nowUnsafe()
const resolveTo =
  (...addresses: ReadonlyArray<string>): Resolver =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))

describe("an attempt", () => {
  it("is a POST of the exact bytes, with the given headers and its own two", async () => {
    await using receiver = await startReceiver()
    await using sender = await startSender()
    const body = '{"title":"Grüße, 🚀","n":1.0}'
    const headers = { "X-Service-Signature": "sha256=00", "Ledger-Attempt": "1" }
    await sender.send({ url: `${receiver.url}?a=b%20c`, body, headers })
    const request = await receiver.next()
    assert.strictEqual(request.method, "POST")
    assert.strictEqual(request.target, "/hook?a=b%20c")
    assert.deepEqual(request.body, Buffer.from(body, "utf8"))
    assert.deepEqual(request.headers, {
      host: `127.0.0.1:${receiver.port}`,
      connection: "keep-alive",
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      "user-agent": "workspace-ledger/0.0.0-test",
      "x-service-signature": "sha256=00",
      "ledger-attempt": "1"
    })
  })

  it.each([200, 201, 202, 204, 299])("that is answered %i is delivered", async (status) => {
    await using receiver = await startReceiver({ answer: status })
    await using sender = await startSender()
    const outcome = await sender.send({ url: receiver.url })
    assert.deepInclude(outcome, { status, failure: null, responseText: "", detail: null })
  })

  it.each([400, 401, 404, 410, 413, 429, 500, 503])(
    "that is answered %i failed",
    async (status) => {
      await using receiver = await startReceiver({ answer: { status, body: "why not" } })
      await using sender = await startSender()
      const outcome = await sender.send({ url: receiver.url })
      assert.deepInclude(outcome, { status, failure: "status", responseText: "why not" })
    }
  )

  it.each([301, 302, 303, 307, 308])(
    "that is answered %i failed, and is not sent on",
    async (status) => {
      await using inside = await startReceiver()
      await using receiver = await startReceiver({
        answer: { status, headers: { Location: inside.url } }
      })
      await using sender = await startSender()
      const outcome = await sender.send({ url: receiver.url })
      assert.deepInclude(outcome, { status, failure: "redirect" })
      assert.strictEqual(inside.connections(), 0)
    }
  )

  it("says how long it took", async () => {
    const answer = Promise.withResolvers<void>()
    await using receiver = await startReceiver({ answer: { after: answer.promise } })
    await using sender = await startSender()
    const before = Date.now()
    const outcome = sender.send({ url: receiver.url })
    await receiver.next()
    answer.resolve()
    const { durationMillis } = await outcome
    assert.isAbove(durationMillis, 0)
    assert.isAtMost(durationMillis, Date.now() - before + 1)
  })

  it("ends at its deadline, and closes the connection", async () => {
    await using receiver = await startReceiver({ answer: () => {} })
    await using sender = await startSender({ timeout: SHORT_TIMEOUT_MILLISECONDS })
    const { durationMillis, ...outcome } = await sender.send({ url: receiver.url })
    assert.deepInclude(outcome, { status: null, failure: "timeout" })
    assert.isAtLeast(durationMillis, SHORT_TIMEOUT_MILLISECONDS - 2)
    assert.isBelow(durationMillis, SHORT_TIMEOUT_MILLISECONDS + LATENESS_MILLISECONDS)
    await (await receiver.next()).closed
  })

  it("that is interrupted aborts its request", async () => {
    await using receiver = await startReceiver({ answer: () => {} })
    await using sender = await startSender()
    const interrupt = new AbortController()
    const outcome = sender.send({ url: receiver.url }, interrupt.signal).catch(() => "interrupted")
    const { closed } = await receiver.next()
    interrupt.abort()
    await closed
    assert.strictEqual(await outcome, "interrupted")
  })

  it("that is interrupted while it connects sends nothing", async () => {
    await using receiver = await startReceiver()
    const asked = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<Awaited<ReturnType<Resolver>>>()
    const resolve: Resolver = () => {
      asked.resolve()
      return answer.promise
    }
    await using sender = await startSender({ resolve })
    const interrupt = new AbortController()
    const url = `http://localhost:${receiver.port}/`
    const outcome = sender.send({ url, body: "first" }, interrupt.signal).catch(() => "interrupted")
    await asked.promise
    interrupt.abort()
    assert.strictEqual(await outcome, "interrupted")
    answer.resolve([{ address: "127.0.0.1", family: 4 }])
    assert.strictEqual((await sender.send({ url, body: "second" })).status, 200)
    assert.deepEqual(
      receiver.received.map(({ text }) => text),
      ["second"]
    )
  })

  it("uses connections again", async () => {
    await using receiver = await startReceiver()
    await using sender = await startSender()
    for (let attempt = 0; attempt < 20; attempt++) await sender.send({ url: receiver.url })
    // A new attempt may start before the connection of the last one is put back.
    assert.isAtMost(receiver.connections(), 2)
  })

  it("survives that the receiver closed the connection that it would use again", async () => {
    await using receiver = await startReceiver({
      answer: (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    })
    await using sender = await startSender()
    for (let attempt = 0; attempt < 20; attempt++) {
      const outcome = await sender.send({ url: receiver.url })
      assert.deepInclude(outcome, { status: 200, failure: null })
    }
  })

  it("closes an idle connection soon", async () => {
    await using receiver = await startReceiver()
    await using sender = await startSender()
    await sender.send({ url: receiver.url })
    const { receivedAt, socket } = await receiver.next()
    await once(socket, "close")
    assert.isBelow(Date.now() - receivedAt, 4_500)
  })

  it("keeps its deadline in real time, where a test moves the Clock", async () => {
    await using receiver = await startReceiver({ answer: () => {} })
    const request = { url: receiver.url, body: "{}", headers: {} }
    const program = Effect.gen(function* () {
      const { send } = yield* WebhookSender
      const fiber = yield* Effect.forkChild(send(request))
      yield* Effect.promise(receiver.next)
      yield* TestClock.adjust("1 hour")
      return yield* Fiber.join(fiber)
    })
    const sender = WebhookSender.layer({ timeout: 200, allow: LOOPBACK_ALLOWED, userAgent: "test" })
    const outcome = await program.pipe(
      Effect.provide(sender),
      Effect.provide(TestClock.layer()),
      Effect.scoped,
      Effect.runPromise
    )
    assert.strictEqual(outcome.failure, "timeout")
    assert.isBelow(outcome.durationMillis, 60_000)
  })
})

describe("no connection", () => {
  it("connect: nobody listens", async () => {
    await using sender = await startSender()
    const port = await closedPort()
    for (const host of ["127.0.0.1", "localhost"]) {
      const outcome = await sender.send({ url: `http://${host}:${port}/` })
      assert.deepInclude(outcome, { status: null, failure: "connect" })
      assert.include(outcome.detail, "ECONNREFUSED")
    }
  })

  const hasIPv6 = JSON.stringify(networkInterfaces()).includes('"::1"')
  it.runIf(hasIPv6)("none of it: a receiver that has IPv6 only is reached", async () => {
    await using receiver = await startReceiver({ host: "::1" })
    await using sender = await startSender({ resolve: resolveTo("127.0.0.1", "::1") })
    for (const url of [receiver.url, `http://localhost:${receiver.port}/`]) {
      assert.deepInclude(await sender.send({ url }), { status: 200, failure: null })
    }
  })

  it("dns: the name has no address", async () => {
    const resolvers: ReadonlyArray<Resolver> = [
      () => Promise.reject(new Error("ENOTFOUND")),
      resolveTo()
    ]
    for (const resolve of resolvers) {
      await using sender = await startSender({ resolve })
      const outcome = await sender.send({ url: "https://receiver.test/" })
      assert.deepInclude(outcome, { status: null, failure: "dns" })
    }
  })

  it("timeout: the resolver does not answer", async () => {
    await using sender = await startSender({
      resolve: () => new Promise(() => {}),
      timeout: SHORT_TIMEOUT_MILLISECONDS
    })
    const outcome = await sender.send({ url: "https://receiver.test/" })
    assert.deepInclude(outcome, { status: null, failure: "timeout" })
  })
})

describe("the guard", () => {
  it.each([
    "http://127.0.0.1:PORT/",
    "https://2130706433:PORT/",
    "https://[::ffff:127.0.0.1]:PORT/",
    "https://localhost:PORT/"
  ])("asks again at each attempt, and does not dial %s", async (url) => {
    await using receiver = await startReceiver()
    await using sender = await startSender({ allow: [] })
    const outcome = await sender.send({ url: url.replace("PORT", String(receiver.port)) })
    assert.deepInclude(outcome, { status: null, failure: "refused_address" })
    assert.include(outcome.detail, "LEDGER_WEBHOOK_ALLOW")
    assert.strictEqual(receiver.connections(), 0)
  })

  it.each([
    [["127.0.0.1"]],
    [["8.8.8.8", "127.0.0.1"]],
    [["2606:4700::1111", "::1"]],
    [["8.8.8.8", "::ffff:10.0.0.1"]],
    [["64:ff9b::7f00:1"]]
  ])("refuses a name that resolves to %j", async (addresses) => {
    await using receiver = await startReceiver()
    await using sender = await startSender({ allow: [], resolve: resolveTo(...addresses) })
    const outcome = await sender.send({ url: `https://receiver.test:${receiver.port}/` })
    assert.deepInclude(outcome, { status: null, failure: "refused_address" })
    assert.strictEqual(receiver.connections(), 0)
  })

  it("dials the address that it vetted: an answer that changes does not matter", async () => {
    const authority = await issueAuthority(NOW)
    const tls = await issueServerCertificate(authority, ["receiver.test"], NOW)
    await using receiver = await startReceiver({
      tls,
      answer: { headers: { Connection: "close" } }
    })
    const answers = ["127.0.0.1", "10.0.0.1", "127.0.0.1"]
    const resolve: Resolver = () => resolveTo(answers.shift() ?? "")("")
    await using sender = await startSender({ resolve, ca: [authority.cert] })
    const url = `https://receiver.test:${receiver.port}/`

    assert.deepInclude(await sender.send({ url }), { status: 200, failure: null })
    assert.lengthOf(answers, 2)
    const { headers, serverName } = await receiver.next()
    assert.strictEqual(headers.host, `receiver.test:${receiver.port}`)
    assert.strictEqual(serverName, "receiver.test")

    const outcome = await sender.send({ url })
    assert.deepInclude(outcome, { status: null, failure: "refused_address" })
    assert.deepInclude(await sender.send({ url }), { status: 200, failure: null })
    assert.strictEqual(receiver.connections(), 2)
  })
})
