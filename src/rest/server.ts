// The HTTP server around the front: listening, TLS, what the parser refuses, and stopping without
// dropping an answer.
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo, Socket } from "node:net"
import { Data, Effect, type Scope } from "effect"
import { InvalidRequest } from "../domain/errors.ts"
import type { LedgerServices } from "../domain/ledger.ts"
import { makeRunDomain } from "../rpc/context.ts"
import { makeBodyReceiver } from "./body.ts"
import { rawError } from "./envelope.ts"
import { makeFront } from "./front.ts"

export interface ServerOptions {
  readonly host: string
  readonly port: number
  /** PEM texts; undefined: plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly maxBodyBytes: number
  readonly behindProxy: boolean
}

/** The service cannot listen where it was told to. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

const HTTP_OPTIONS: http.ServerOptions = {
  // The front answers a request without Host itself, in the spec's envelope.
  requireHostHeader: false,
  headersTimeout: 15_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 5_000,
  noDelay: true
}

/** How long stopping waits for requests that are under way. */
const STOP_TIMEOUT = "2 seconds"

/**
 * Listens until the scope closes; then no connection is accepted, what is under way is answered, and
 * the rest is closed. Answers the address that it listens on.
 */
export const serve = Effect.fnUntraced(function* (
  options: ServerOptions
): Effect.fn.Return<AddressInfo, ListenError, LedgerServices | Scope.Scope> {
  const run = yield* makeRunDomain
  const state = { stopping: false }
  const front = makeFront({
    run,
    receiveBody: makeBodyReceiver(options.maxBodyBytes),
    behindProxy: options.behindProxy,
    isStopping: () => state.stopping
  })
  const server = yield* makeServer(options, front)
  const address = yield* Effect.acquireRelease(listen(server, options), () =>
    Effect.suspend(() => {
      state.stopping = true
      return stop(server)
    })
  )
  return address
})

type Listener = (request: http.IncomingMessage, response: http.ServerResponse) => void

const makeServer = (options: ServerOptions, front: Listener) =>
  Effect.try({
    try: () => {
      const server =
        options.tls === undefined
          ? http.createServer(HTTP_OPTIONS)
          : https.createServer({ ...HTTP_OPTIONS, ...options.tls, minVersion: "TLSv1.2" })
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
        afterAnswer(latest.get(socket), () => refuse(socket, NOT_HTTP))
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
 * in its place would say «not performed» of what is being performed.
 */
const afterAnswer = (latest: Exchange | undefined, refuseRest: () => void) => {
  const underWay = latest?.request.complete === true && !latest.response.writableFinished
  if (underWay && !latest.response.destroyed) latest.response.once("close", refuseRest)
  else refuseRest()
}

const NOT_HTTP = rawError(new InvalidRequest({ message: "The request is not valid HTTP." }))
const CONNECT_REFUSED = rawError(
  new InvalidRequest({ message: "The method CONNECT is not allowed." })
)

const refuse = (socket: Socket, answer: string) => {
  socket.on("error", () => socket.destroy())
  if (socket.writable) socket.end(answer)
  else socket.destroy()
}

const listen = (server: http.Server | https.Server, { host, port }: ServerOptions) =>
  Effect.callback<AddressInfo, ListenError>((resume) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      resume(Effect.fail(new ListenError({ message: listenProblem(error, host, port) })))
    })
    server.listen({ host, port }, () => {
      server.removeAllListeners("error")
      resume(Effect.succeed(server.address() as AddressInfo))
    })
  })

const listenProblem = (error: NodeJS.ErrnoException, host: string, port: number): string => {
  switch (error.code) {
    case "EADDRINUSE":
      return `Port ${port} of ${host} is in use already. Set LEDGER_PORT to another one.`
    case "EACCES":
      return `This user may not listen on port ${port} of ${host}. Set LEDGER_PORT to another one.`
    default:
      return `The service cannot listen on port ${port} of ${host}. Check LEDGER_HOST and LEDGER_PORT.`
  }
}

/**
 * `close` waits for keep-alive connections, so those that are idle are closed, again and again as
 * their last answers go out; at the deadline, all are.
 */
const stop = (server: http.Server | https.Server) => {
  const closed = Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
  })
  const closeIdle = Effect.sync(() => server.closeIdleConnections()).pipe(
    Effect.andThen(Effect.sleep("20 millis")),
    Effect.forever
  )
  return Effect.raceFirst(closed, closeIdle).pipe(
    Effect.timeoutOption(STOP_TIMEOUT),
    Effect.andThen(Effect.sync(() => server.closeAllConnections()))
  )
}
