// The receiver's process: answers every callback with 200 at once, and says when they came. It knows
// just enough of HTTP for requests with Content-Length, so that receiving costs little CPU.
import { createHmac } from "node:crypto"
import * as net from "node:net"
import {
  type Expectation,
  HANGING_PATH,
  monotonicMillis,
  type ReceiverMessage
} from "./messages.ts"

const HEAD_END = "\r\n\r\n"
const LENGTH = /\r\ncontent-length: (\d+)/i
const EVENT_ID = /\r\nwebhook-id: ([^\r]+)/i
const SIGNATURE = /\r\nx-service-signature: sha256=([0-9a-f]{64})/i
const ANSWER = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
/** A callback to such a path is never answered, nor reported. */
const HANGING = `POST ${HANGING_PATH}`
/** One in so many signatures is computed again; all have to be there. */
const CHECKED_EVERY = 16

interface Count {
  readonly expectation: Expectation
  readonly ids: Set<string>
  firstAtMillis: number
  repeats: number
  forgeries: number
}

let count: Count | undefined

const tell = (message: ReceiverMessage) => process.send?.(message)

const receive = (head: string, body: Buffer) => {
  const atMillis = monotonicMillis()
  if (count === undefined) return tell({ arrival: { atMillis, body: body.toString("utf8") } })
  const { expectation, ids } = count
  if (ids.size === 0) count.firstAtMillis = atMillis
  const id = EVENT_ID.exec(head)?.[1] ?? ""
  if (ids.has(id)) count.repeats += 1
  ids.add(id)
  const signature = SIGNATURE.exec(head)?.[1]
  const isChecked = ids.size % CHECKED_EVERY === 0
  if (signature === undefined || (isChecked && signature !== sign(expectation, body))) {
    count.forgeries += 1
  }
  if (ids.size < expectation.count) return
  const { firstAtMillis, forgeries, repeats } = count
  count = undefined
  tell({ arrived: { firstAtMillis, lastAtMillis: atMillis, repeats, forgeries } })
}

const sign = ({ secret }: Expectation, body: Buffer) =>
  createHmac("sha256", secret).update(body).digest("hex")

const server = net.createServer({ noDelay: true }, (socket) => {
  let pending = Buffer.alloc(0)
  // A sender that goes away is no concern of the receiver's.
  socket.on("error", () => socket.destroy())
  socket.on("data", (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (;;) {
      const headEnd = pending.indexOf(HEAD_END)
      if (headEnd === -1) return
      const head = pending.toString("latin1", 0, headEnd)
      const bodyStart = headEnd + HEAD_END.length
      const bodyEnd = bodyStart + Number(LENGTH.exec(head)?.[1] ?? 0)
      if (pending.length < bodyEnd) return
      const body = pending.subarray(bodyStart, bodyEnd)
      pending = pending.subarray(bodyEnd)
      if (head.startsWith(HANGING)) continue
      receive(head, body)
      socket.write(ANSWER, "latin1")
    }
  })
})

process.on("message", (asked: Expectation | "port") => {
  if (asked === "port") {
    const address = server.address()
    process.send?.({ port: typeof address === "object" ? address?.port : undefined })
    return
  }
  const expectation = asked
  count = { expectation, ids: new Set(), firstAtMillis: 0, repeats: 0, forgeries: 0 }
  process.send?.("expecting")
})
process.once("disconnect", () => process.exit(0))
// Ctrl-C reaches the whole process group; the harness decides when this process ends.
process.on("SIGINT", () => {})
server.listen(0, "127.0.0.1", () => process.send?.("ready"))
