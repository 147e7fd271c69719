// One keep-alive HTTP/1.1 connection that sends a request, reads the answer and sends the next. It
// knows just enough of HTTP for answers with Content-Length, so that the load costs little CPU.
import * as net from "node:net"

export interface Reply {
  readonly status: number
  readonly body: string
}

/** Called with every answer (undefined at first); gives the next request, or undefined to stop. */
export type NextRequest = (reply: Reply | undefined) => string | undefined

const HEAD_END = "\r\n\r\n"
const LENGTH = /\r\ncontent-length: (\d+)/i
/** `HTTP/1.1 200` */
const STATUS_START = 9
const STATUS_END = 12

/** Resolves when `next` has had enough; rejects when the connection breaks. */
export const converse = (host: string, port: number, next: NextRequest): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ host, port, noDelay: true })
    let pending = Buffer.alloc(0)
    const send = (reply: Reply | undefined) => {
      const request = next(reply)
      if (request !== undefined) return void socket.write(request, "latin1")
      socket.removeAllListeners("close")
      socket.destroy()
      resolve()
    }
    socket.once("connect", () => send(undefined))
    socket.once("error", reject)
    socket.once("close", () => reject(new Error("The service closed the connection.")))
    socket.on("data", (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      const answer = completeAnswer(pending)
      if (answer instanceof Error) return void socket.destroy(answer)
      if (answer === undefined) return
      pending = Buffer.alloc(0)
      send(answer)
    })
  })

/** One request is under way at a time, so a complete answer is all that there is. */
const completeAnswer = (bytes: Buffer): Reply | Error | undefined => {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const head = bytes.toString("latin1", 0, headEnd)
  const length = LENGTH.exec(head)?.[1]
  if (length === undefined) return new Error(`An answer without Content-Length: ${head}`)
  const bodyStart = headEnd + HEAD_END.length
  const bodyEnd = bodyStart + Number(length)
  if (bytes.length < bodyEnd) return undefined
  return {
    status: Number(head.slice(STATUS_START, STATUS_END)),
    body: bytes.toString("latin1", bodyStart, bodyEnd)
  }
}
