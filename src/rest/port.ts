// A port of this machine, taken at the very start: whether it is free is known before anything is done
// that a start without a port would leave behind. Who connects meanwhile waits for the server.
import * as net from "node:net"
import { Data, Effect, type Scope } from "effect"

/** The service cannot listen where it was told to. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

export interface PortOptions {
  readonly host: string
  readonly port: number
  /** What is wrong and what to do about it, in words for whoever set the port. */
  readonly problemOf: (error: NodeJS.ErrnoException) => string
}

export interface TakenPort {
  readonly address: net.AddressInfo
  /** Hands the port and those who wait at it to a server, which closes it from then on. */
  readonly handTo: (server: net.Server) => Effect.Effect<void>
}

/** Listens on the port until the scope closes, or until it is handed to a server. */
export const takePort = Effect.fnUntraced(function* (
  options: PortOptions
): Effect.fn.Return<TakenPort, ListenError, Scope.Scope> {
  const waiting = new Set<net.Socket>()
  const door = net.createServer(
    { allowHalfOpen: true, noDelay: true, pauseOnConnect: true },
    (socket) => {
      waiting.add(socket)
      socket.once("close", () => waiting.delete(socket))
    }
  )
  let handedOver = false
  const close = Effect.sync(() => {
    if (handedOver) return
    door.close()
    for (const socket of waiting) socket.destroy()
  })
  const address = yield* Effect.acquireRelease(listen(door, options), () => close)
  const handTo = (server: net.Server) =>
    Effect.callback<void>((resume) => {
      handedOver = true
      server.listen(door, () => {
        for (const socket of waiting) {
          server.emit("connection", socket)
          socket.resume()
        }
        waiting.clear()
        resume(Effect.void)
      })
    })
  return { address, handTo }
})

const listen = (door: net.Server, { host, port, problemOf }: PortOptions) =>
  Effect.callback<net.AddressInfo, ListenError>((resume) => {
    door.once("error", (error: NodeJS.ErrnoException) => {
      resume(Effect.fail(new ListenError({ message: problemOf(error) })))
    })
    door.listen({ host, port }, () => {
      door.removeAllListeners("error")
      resume(Effect.succeed(door.address() as net.AddressInfo))
    })
  })
