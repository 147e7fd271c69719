// The HTTP server around the front: listening, TLS, what the parser refuses, and stopping without
// dropping an answer.
import * as http from "node:http"
import * as https from "node:https"
import type { Socket } from "node:net"
import { Effect, Schedule, type Scope } from "effect"
import { InvalidRequest } from "../domain/errors.ts"
import type { LedgerServices } from "../domain/ledger.ts"
import { makeRunDomain } from "../rpc/context.ts"
import { makeBodyReceiver } from "./body.ts"
import { rawError } from "./envelope.ts"
import { makeFront } from "./front.ts"
import { ListenError, type TakenPort } from "./port.ts"

export interface ServerOptions {
  readonly port: TakenPort
  /** PEM texts; undefined: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly maxBodyBytes: number
  readonly behindProxy: boolean
}

const HTTP_OPTIONS: http.ServerOptions = {
  // The front answers a request without Host itself, in the spec's envelope.
  requireHostHeader: false,
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
  noDelay: true
}

/** Node's HTTP servers allow half-open sockets; its TLS servers must be told to. */
const TLS_OPTIONS = { minVersion: "TLSv1.2", allowHalfOpen: true } as const

/** How long stopping waits for requests that are under way. */
const STOP_TIMEOUT = "2 seconds"

/**
 * Answers on the port until the scope closes; then no connection is accepted, what is under way is
 * answered, and the rest is closed.
 */
export const serve = Effect.fnUntraced(function* (
  options: ServerOptions
): Effect.fn.Return<void, ListenError, LedgerServices | Scope.Scope> {
  const run = yield* makeRunDomain
  const state = { stopping: false }
  const front = makeFront({
    run,
    receiveBody: makeBodyReceiver(options.maxBodyBytes),
    behindProxy: options.behindProxy,
    isStopping: () => state.stopping
  })
  const server = yield* makeServer(options, front)
  const connections = connectionsOf(server)
  yield* Effect.acquireRelease(options.port.handTo(server), () =>
    Effect.suspend(() => {
      state.stopping = true
      return stop(server, connections)
    })
  )
})

type Server = http.Server | https.Server
type Listener = (request: http.IncomingMessage, response: http.ServerResponse) => void

/** Every socket of a server, also those that have not finished their TLS handshake. */
const connectionsOf = (server: Server): ReadonlySet<Socket> => {
  const connections = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    connections.add(socket)
    socket.once("close", () => connections.delete(socket))
  })
  return connections
}

const makeServer = (options: ServerOptions, front: Listener) =>
  Effect.try({
    try: () => {
      const server =
        options.tls === undefined
          ? http.createServer(HTTP_OPTIONS)
          : https.createServer({ ...HTTP_OPTIONS, ...options.tls, ...TLS_OPTIONS })
      // Node has no option for it: a client that has shut down its writing side is still answered, and
      // its connection closed after that. Half a request goes to clientError all the same.
      Object.assign(server, { httpAllowHalfOpen: true })
      const latest = new WeakMap<Socket, Exchange>()
      const answer: Listener = (request, response) => {
        latest.set(request.socket, { request, response })
        front(request, response)
      }
      server.on("request", answer)
      // The front says «continue» itself, after it has authenticated; it refuses other expectations.
      server.on("checkContinue", answer)
      server.on("checkExpectation", answer)
      server.on("connect", (_request, socket: Socket) => refuse(socket, CONNECT_REFUSED))
      server.on("clientError", (_error, socket: Socket) =>
        afterAnswer(latest.get(socket), (answered) =>
          answered ? socket.destroySoon() : refuse(socket, NOT_HTTP)
        )
      )
      return server
    },
    catch: () => new ListenError({ message: "The TLS certificate or key is not valid PEM." })
  })

interface Exchange {
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
}

/**
 * What follows a whole request may be no HTTP. The answer to that request goes out first: a refusal
 * in its place would say «not performed» of what is being performed. And a request whose body does not
 * end well, after its answer, gets no second one.
 */
const afterAnswer = (latest: Exchange | undefined, end: (answered: boolean) => void) => {
  if (latest === undefined) return end(false)
  const { request, response } = latest
  const underWay = !response.writableFinished && !response.destroyed
  if (request.complete && underWay) response.once("close", () => end(false))
  else end(!request.complete && response.writableFinished)
}

const NOT_HTTP = rawError(new InvalidRequest({ message: "The request is not valid HTTP." }))
const CONNECT_REFUSED = rawError(
  new InvalidRequest({ message: "The method CONNECT is not allowed." })
)

const refuse = (socket: Socket, answer: string) => {
  socket.on("error", () => socket.destroy())
  if (!socket.writable) return socket.destroy()
  socket.end(answer)
  // A client that keeps its own side open would keep the socket for ever.
  socket.destroySoon()
}

/**
 * Connections that are idle are closed, again and again as their last answers go out; at the deadline,
 * all are. `close` itself knows nothing of those who waited for the service to start.
 */
const stop = (server: Server, connections: ReadonlySet<Socket>) => {
  const closeIdle = Effect.sync(() => {
    server.closeIdleConnections()
    return connections.size
  })
  return Effect.sync(() => server.close()).pipe(
    Effect.andThen(
      Effect.repeat(closeIdle, {
        schedule: Schedule.spaced("20 millis"),
        while: (open) => open > 0
      })
    ),
    Effect.timeoutOption(STOP_TIMEOUT),
    Effect.andThen(
      Effect.sync(() => {
        server.closeAllConnections()
        for (const socket of connections) socket.destroy()
      })
    )
  )
}
