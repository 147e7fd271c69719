// What the log tells of an attempt that failed holds nothing that only the two ends should know: not
// the path and query of the URL, which often are a key, no signature, and nothing of the body.
import { assert, describe, it } from "vitest"
import type { FailureClass } from "../../src/workers/sendWebhook.ts"
import { type Answer, closedPort, startReceiver } from "../support/receiver.ts"
import { SHORT_TIMEOUT_MILLISECONDS, startSender } from "./sender.ts"

/** Somewhere in everything that is sent, and in everything that is answered. */
const PRIVATE = "a-private-word"

const REQUEST = {
  body: JSON.stringify({ title: PRIVATE }),
  headers: { "X-Service-Signature": `sha256=${PRIVATE}` }
}

const write =
  (text: string): Answer =>
  (socket) => {
    socket.end(text)
  }

const CASES: ReadonlyArray<[FailureClass, string, Answer]> = [
  ["reset", "http://127.0.0.1:PORT", (socket) => socket.destroy()],
  [
    "reset",
    "http://127.0.0.1:PORT",
    write(`HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n${PRIVATE}`)
  ],
  ["protocol", "http://127.0.0.1:PORT", write(`${PRIVATE}\r\n\r\n`)],
  ["protocol", "http://127.0.0.1:PORT", write(`HTTP/1.1 200 OK\r\n${PRIVATE} \r\n\r\n`)],
  [
    "protocol",
    "http://127.0.0.1:PORT",
    write(`HTTP/1.1 200 OK\r\nContent-Length: ${PRIVATE}\r\n\r\n`)
  ],
  ["protocol", "http://127.0.0.1:PORT", write(`HTTP/1.1 200 OK\r\nX: ${PRIVATE.repeat(2_000)}`)],
  ["timeout", "http://127.0.0.1:PORT", (socket) => void socket.write("HTTP/1.1 200 OK\r\n")],
  ["tls", "https://127.0.0.1:PORT", 200],
  ["connect", "http://127.0.0.1:CLOSED", 200],
  ["dns", "https://receiver.test", 200],
  ["refused_address", "https://10.0.0.1", 200],
  ["refused_address", "https://private.test", 200],
  ["refused_address", `https://user:${PRIVATE}@receiver.test`, 200],
  ["refused_address", `ftp://receiver.test`, 200]
]

describe("the detail of an attempt has nothing of the request or the answer in it:", () => {
  it.each(CASES)("%s of %s", async (failure, origin, answer) => {
    await using receiver = await startReceiver({ answer })
    await using sender = await startSender({
      ...(failure === "timeout" ? { timeout: SHORT_TIMEOUT_MILLISECONDS } : {}),
      resolve: async (host) => (host === "private.test" ? [{ address: "10.0.0.1", family: 4 }] : [])
    })
    const host = origin
      .replace("PORT", String(receiver.port))
      .replace("CLOSED", String(await closedPort()))
    const url = `${host}/${PRIVATE}?key=${PRIVATE}`
    const outcome = await sender.send({ ...REQUEST, url })
    assert.strictEqual(outcome.failure, failure)
    assert.isNotEmpty(outcome.detail)
    assert.notInclude(outcome.detail, PRIVATE)
  })
})
