// HTTP as bytes, for requests that no well-behaved client can send. Writes to a socket exactly what it
// is given, and reads every answer that comes back.
import { once } from "node:events"
import * as net from "node:net"
import * as tls from "node:tls"
import { AUTHENTICATION } from "./service.ts"

export interface RawReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely, as JSON.parse does.
  readonly body: any
}

export interface RawExchange {
  readonly replies: ReadonlyArray<RawReply>
  /** Whether the service closed the connection, rather than we. */
  readonly closed: boolean
}

interface RawOptions {
  /** The connection is closed after so many answers; without it, when the service closes it. */
  readonly answers?: number
  /** Half-close after writing, as a client that has nothing more to say. */
  readonly end?: boolean
  /** What is written when the first answer, such as `100 Continue`, is there. */
  readonly afterFirst?: string | Buffer
}

/** An open socket to the service: by TCP, or by TLS where its address says so. */
export const connectTo = (baseUrl: string): net.Socket => {
  const { hostname, port, protocol } = new URL(baseUrl)
  const address = { host: hostname, port: Number(port) }
  return protocol === "https:"
    ? tls.connect({ ...address, rejectUnauthorized: false })
    : net.connect(address)
}

/** Longer than any answer takes, and shorter than a test's patience. */
const PATIENCE_MILLISECONDS = 5_000

/** Writes the bytes and gives the answers. Rejects when the service neither answers nor closes. */
export const exchange = (
  baseUrl: string,
  bytes: string | Buffer,
  options: RawOptions = {}
): Promise<RawExchange> =>
  new Promise((resolve, reject) => {
    const socket = connectTo(baseUrl)
    let received = Buffer.alloc(0)
    let continued = false
    const finish = (closed: boolean) => {
      socket.destroy()
      clearTimeout(timer)
      resolve({ replies: parseReplies(received), closed })
    }
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no answer; received ${JSON.stringify(received.toString("latin1"))}`))
    }, PATIENCE_MILLISECONDS)
    socket.write(bytes)
    if (options.end === true) socket.end()
    socket.on("data", (chunk) => {
      received = Buffer.concat([received, chunk])
      const count = parseReplies(received).length
      if (options.afterFirst !== undefined && !continued && count > 0) {
        continued = true
        socket.write(options.afterFirst)
      }
      if (options.answers !== undefined && count >= options.answers) finish(false)
    })
    // A reset is an end, too: what arrived before it counts.
    socket.on("error", () => finish(true))
    socket.on("close", () => finish(true))
  })

/** Writes the bytes and keeps the connection. Gives the way to drop it without reading anything. */
export const leaveOpen = (baseUrl: string, bytes: string | Buffer): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const socket = connectTo(baseUrl)
    socket.on("error", reject)
    socket.write(bytes, () => resolve(() => socket.resetAndDestroy()))
  })

export interface Talk {
  /** The next answer, `100 Continue` too. Rejects when the connection ends without it. */
  readonly reply: () => Promise<RawReply>
  readonly write: (bytes: string | Buffer) => void
  /** Shuts down the writing side. */
  readonly end: () => void
  /** Resets the connection. */
  readonly leave: () => void
  /** Resolves when the service has closed the connection; its own side stays open until then. */
  readonly ended: Promise<void>
}

/** A connection on which a request is sent piece by piece. It ends only when somebody ends it. */
export const startTalk = (baseUrl: string, bytes: string | Buffer): Talk => {
  const socket = connectTo(baseUrl)
  let received = Buffer.alloc(0)
  let given = 0
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk])
  })
  const closed = once(socket, "close").catch(() => undefined)
  const reply = async (): Promise<RawReply> => {
    for (;;) {
      const next = parseReplies(received)[given]
      if (next !== undefined) {
        given += 1
        return next
      }
      if (socket.destroyed) throw new Error(`no answer: ${received.toString("latin1")}`)
      await Promise.race([once(socket, "data"), closed])
    }
  }
  socket.write(bytes)
  return {
    reply,
    write: (more) => socket.write(more),
    end: () => socket.end(),
    leave: () => socket.resetAndDestroy(),
    ended: closed.then(() => {})
  }
}

const END_OF_HEAD = "\r\n\r\n"

const parseReplies = (received: Buffer): ReadonlyArray<RawReply> => {
  const replies: Array<RawReply> = []
  let rest = received
  for (;;) {
    const end = rest.indexOf(END_OF_HEAD)
    if (end === -1) return replies
    const [statusLine = "", ...lines] = rest.subarray(0, end).toString("latin1").split("\r\n")
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(":")
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      })
    )
    const framed = bodyAfter(rest.subarray(end + END_OF_HEAD.length), headers)
    if (framed === undefined) return replies
    const text = framed.body.toString("utf8")
    replies.push({ status: Number(statusLine.split(" ")[1]), headers, text, body: parseJson(text) })
    rest = framed.rest
  }
}

interface Framed {
  readonly body: Buffer
  readonly rest: Buffer
}

/** A body by its length or its chunks; undefined while it is not all there. */
const bodyAfter = (
  bytes: Buffer,
  headers: Readonly<Record<string, string>>
): Framed | undefined => {
  if (headers["transfer-encoding"] === "chunked") return chunksOf(bytes)
  const length = Number(headers["content-length"] ?? 0)
  if (bytes.length < length) return undefined
  return { body: bytes.subarray(0, length), rest: bytes.subarray(length) }
}

const chunksOf = (bytes: Buffer): Framed | undefined => {
  const chunks: Array<Buffer> = []
  let rest = bytes
  for (;;) {
    const lineEnd = rest.indexOf("\r\n")
    const size = Number.parseInt(rest.subarray(0, Math.max(lineEnd, 0)).toString("latin1"), 16)
    const start = lineEnd + 2
    if (lineEnd === -1 || rest.length < start + size + 2) return undefined
    chunks.push(rest.subarray(start, start + size))
    rest = rest.subarray(start + size + 2)
    if (size === 0) return { body: Buffer.concat(chunks), rest }
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const AUTHENTICATION_LINES = Object.entries(AUTHENTICATION).map(
  ([name, value]) => `${name}: ${value}`
)

/** A request as bytes: request line, `Host`, the test's authentication, the given header lines. */
export const rawRequest = (
  requestLine: string,
  lines: ReadonlyArray<string> = [],
  body: string | Buffer = ""
): Buffer =>
  Buffer.concat([
    Buffer.from(
      [requestLine, "Host: localhost", ...AUTHENTICATION_LINES, ...lines, "", ""].join("\r\n"),
      "latin1"
    ),
    Buffer.from(body)
  ])

/** `POST /ops` as bytes, with the body's true length and any other header lines. */
export const rawOperation = (body: string | Buffer, lines: ReadonlyArray<string> = []): Buffer =>
  rawRequest(
    "POST /ops HTTP/1.1",
    ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`, ...lines],
    body
  )
