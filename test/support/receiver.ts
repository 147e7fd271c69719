// A real receiver for tests: an HTTP(S) server on loopback. What it received comes out of an async
// queue; what it answers is scripted per request, down to the bytes on the socket.
import { once } from "node:events"
import * as http from "node:http"
import * as https from "node:https"
import * as net from "node:net"
import type { Duplex } from "node:stream"

export interface ReceivedRequest {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: http.IncomingHttpHeaders
  /** Names and values in turn, as they came. */
  readonly rawHeaders: ReadonlyArray<string>
  /** The exact bytes of the body. */
  readonly body: Buffer
  readonly text: string
  readonly receivedAt: number
  readonly socket: Duplex
  /** The server name that the TLS handshake asked for. */
  readonly serverName: string | undefined
  /** Resolves when the connection that brought it is closed. */
  readonly closed: Promise<void>
}

export interface ScriptedAnswer {
  readonly status?: number
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Buffer
  /** The answer is not sent before this resolves. */
  readonly after?: Promise<unknown>
}

/** A status, an answer, or a function that speaks on the socket itself. */
export type Answer =
  | number
  | ScriptedAnswer
  | ((socket: Duplex, request: ReceivedRequest) => unknown)

export interface TestReceiver extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/hook`, or `https:` with a certificate. */
  readonly url: string
  readonly port: number
  /** The next request that nobody has taken yet; waits for it. */
  readonly next: () => Promise<ReceivedRequest>
  /** The next `count` of them. */
  readonly take: (count: number) => Promise<ReadonlyArray<ReceivedRequest>>
  /** Everything that came so far, taken or not. */
  readonly received: ReadonlyArray<ReceivedRequest>
  /** What every request from now on is answered with, unless `answerNext` says otherwise. */
  readonly answer: (answer: Answer) => void
  /** What the next requests are answered with, one each, in order. */
  readonly answerNext: (...answers: ReadonlyArray<Answer>) => void
  /** How many connections were ever made. */
  readonly connections: () => number
  /** Drops every connection and listens no more. Starting again on `port` is a new receiver. */
  readonly stop: () => Promise<void>
}

export interface ReceiverOptions {
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly host?: string
  readonly port?: number
  readonly answer?: Answer
}

/** Starts a receiver; it answers 200 with an empty body until told otherwise. */
export const startReceiver = async (options: ReceiverOptions = {}): Promise<TestReceiver> => {
  const { host = "127.0.0.1", port = 0, tls } = options
  const queue = makeQueue<ReceivedRequest>()
  const script: { every: Answer; next: Array<Answer> } = { every: options.answer ?? 200, next: [] }
  const serve = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const received = await receive(request)
    const answer = script.next.shift() ?? script.every
    queue.offer(received)
    await reply(answer, received, response)
  }
  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse) => {
    // A sender that went away in the middle is what some tests are about.
    serve(request, response).catch(() => request.destroy())
  }
  const server =
    tls === undefined ? http.createServer(onRequest) : https.createServer(tls, onRequest)
  const sockets = trackSockets(server)
  await listen(server, host, port)
  const address = server.address() as net.AddressInfo
  const stop = () => close(server, sockets.open)
  return {
    url: `${tls === undefined ? "http" : "https"}://${host.includes(":") ? `[${host}]` : host}:${address.port}/hook`,
    port: address.port,
    next: queue.take,
    take: async (count) => {
      const taken: Array<ReceivedRequest> = []
      while (taken.length < count) taken.push(await queue.take())
      return taken
    },
    received: queue.all,
    answer: (answer) => {
      script.every = answer
    },
    answerNext: (...answers) => script.next.push(...answers),
    connections: sockets.count,
    stop,
    [Symbol.asyncDispose]: stop
  }
}

/** A server that speaks no HTTP: `onConnection` has the bare socket. */
export const startSocketServer = async (onConnection: (socket: net.Socket) => void) => {
  const server = net.createServer((socket) => {
    socket.on("error", () => {})
    onConnection(socket)
  })
  const sockets = trackSockets(server)
  await listen(server, "127.0.0.1", 0)
  return {
    port: (server.address() as net.AddressInfo).port,
    [Symbol.asyncDispose]: () => close(server, sockets.open)
  }
}

/** A port of loopback that nothing listens on. */
export const closedPort = async (): Promise<number> => {
  const server = await startSocketServer(() => {})
  await server[Symbol.asyncDispose]()
  return server.port
}

const closings = new WeakMap<Duplex, Promise<void>>()

/** Resolves when the socket is closed, well or with an error (for which `once` would reject). */
export const closeOf = (socket: Duplex): Promise<void> => {
  const known = closings.get(socket)
  if (known !== undefined) return known
  const closed = new Promise<void>((resolve) => {
    if (socket.closed) resolve()
    else socket.once("close", () => resolve())
  })
  closings.set(socket, closed)
  return closed
}

const receive = async (request: http.IncomingMessage): Promise<ReceivedRequest> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const { socket } = request
  return {
    method: request.method ?? "",
    target: request.url ?? "",
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body,
    text: body.toString("utf8"),
    receivedAt: Date.now(),
    socket,
    serverName: "servername" in socket ? String(socket.servername) : undefined,
    closed: closeOf(socket)
  }
}

const reply = async (answer: Answer, received: ReceivedRequest, response: http.ServerResponse) => {
  if (typeof answer === "function") {
    await answer(received.socket, received)
    return
  }
  const {
    after,
    body,
    headers = {},
    status = 200
  } = typeof answer === "number" ? { status: answer } : (answer as ScriptedAnswer)
  await after
  response.writeHead(status, headers).end(body)
}

/** Values that are offered before they are taken wait, and so do those who take first. */
const makeQueue = <A>() => {
  const all: Array<A> = []
  const waiting: Array<(value: A) => void> = []
  let taken = 0
  return {
    all,
    offer: (value: A) => {
      all.push(value)
      const taker = waiting.shift()
      if (taker !== undefined) {
        taken++
        taker(value)
      }
    },
    take: (): Promise<A> => {
      const value = all[taken]
      if (value === undefined) return new Promise((resolve) => waiting.push(resolve))
      taken++
      return Promise.resolve(value)
    }
  }
}

const trackSockets = (server: net.Server) => {
  const open = new Set<net.Socket>()
  let count = 0
  server.on("connection", (socket) => {
    count++
    open.add(socket)
    socket.on("error", () => {})
    socket.once("close", () => open.delete(socket))
  })
  server.on("secureConnection", (socket: net.Socket) => socket.on("error", () => {}))
  // A client that refuses the certificate, or resets in the handshake, is not the server's affair.
  server.on("tlsClientError", () => {})
  return { open, count: () => count }
}

const listen = async (server: net.Server, host: string, port: number) => {
  server.listen(port, host)
  await once(server, "listening")
}

const close = async (server: net.Server, open: ReadonlySet<net.Socket>) => {
  if (!server.listening) return
  const closed = once(server, "close")
  server.close()
  for (const socket of open) socket.destroy()
  await closed
}
