// A TCP proxy before PostgreSQL that loses connections at COMMIT, which no server can be asked to do.
// Used by the tests of what callers are told then. The service must run with
// LEDGER_PREPARED_STATEMENTS=false, so that the word COMMIT itself is on the wire.
import { once } from "node:events"
import * as net from "node:net"

/** Where the connection is lost, seen from the server. */
export type Loss =
  /** The server commits, but its answer is swallowed. */
  | "after commit"
  /** COMMIT never reaches the server, which notices that its client is gone. */
  | "before commit"
  /** COMMIT never reaches the server, which for a while does not notice anything. */
  | "unnoticed"
  /** As after commit, and nobody reaches the server until it comes back. */
  | "for good"

export interface PostgresProxy extends AsyncDisposable {
  /** The database's address through the proxy. */
  readonly url: string
  /** Loses the connections of the next `times` transactions that write the ledger, at their COMMIT. */
  readonly arm: (loss: Loss, times?: number) => void
  /** How many were lost so far. */
  readonly losses: () => number
  /** After a loss `for good`: lets connections be made again. */
  readonly comeBack: () => void
}

const COMMIT = Buffer.from("COMMIT\0")
const WRITE = Buffer.from("insert into ledger_entries")

export const startPostgresProxy = async (databaseUrl: string): Promise<PostgresProxy> => {
  const target = new URL(databaseUrl)
  const sockets = new Set<net.Socket>()
  const armed = { loss: "before commit" as Loss, times: 0 }
  let losses = 0
  let isAway = false

  const server = net.createServer({ noDelay: true }, (client) => {
    if (isAway) {
      client.resetAndDestroy()
      return
    }
    const upstream = net.connect({
      host: target.hostname,
      port: Number(target.port),
      noDelay: true
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on("error", () => socket.destroy())
      socket.once("close", () => sockets.delete(socket))
    }
    let lost = false
    let written = false
    client.on("data", (chunk) => {
      if (chunk.includes(WRITE)) written = true
      const ends = written && chunk.includes(COMMIT)
      if (ends) written = false
      if (!lost && ends && armed.times > 0) {
        armed.times -= 1
        losses += 1
        lost = true
        isAway = armed.loss === "for good"
        lose(armed.loss, chunk, client, upstream)
        if (isAway) for (const socket of sockets) if (socket !== upstream) socket.resetAndDestroy()
      } else upstream.write(chunk)
    })
    upstream.on("data", (chunk) => {
      if (!lost) client.write(chunk)
    })
    client.once("close", () => {
      if (!lost) upstream.destroy()
    })
    upstream.once("close", () => client.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = new URL(databaseUrl)
  url.port = String((server.address() as net.AddressInfo).port)
  return {
    url: url.href,
    arm: (loss, times = 1) => Object.assign(armed, { loss, times }),
    losses: () => losses,
    comeBack: () => {
      isAway = false
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close")
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    }
  }
}

const lose = (loss: Loss, chunk: Buffer, client: net.Socket, upstream: net.Socket): void => {
  switch (loss) {
    case "after commit":
    case "for good":
      // The client is told of nothing before the server has answered, which is after the commit.
      upstream.once("data", () => {
        client.resetAndDestroy()
        upstream.destroy()
      })
      upstream.write(chunk)
      return
    case "before commit":
      client.resetAndDestroy()
      upstream.resetAndDestroy()
      return
    case "unnoticed":
      client.resetAndDestroy()
  }
}
