// The ports of the service: ours from the very start, so that one that is in use is told before anything
// is made, and who comes while the database is awaited is answered when it is there.
import { once } from "node:events"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { createDatabase, type TestDatabase } from "../support/postgres.ts"
import { rawRequest, startTalk } from "../support/rawHttp.ts"
import { makeFolder, startEmbedded } from "./embedded.ts"

let folder: string
let dataDir: string
beforeEach(() => {
  folder = makeFolder()
  dataDir = path.join(folder, "data")
})
afterEach(() => fs.rmSync(folder, { recursive: true, force: true }))

interface Listener extends AsyncDisposable {
  readonly port: number
  /** The next connection that is made. */
  readonly connection: Promise<net.Socket>
}

/** A port on which somebody listens, and does nothing with who connects. */
const listen = async (): Promise<Listener> => {
  const server = net.createServer({ pauseOnConnect: true })
  const sockets: Array<net.Socket> = []
  const connection = new Promise<net.Socket>((resolve) => server.once("connection", resolve))
  server.on("connection", (socket) => {
    sockets.push(socket)
    socket.on("error", () => socket.destroy())
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as net.AddressInfo).port,
    connection,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, "close")
    }
  }
}

const freePort = async (): Promise<number> => {
  await using listener = await listen()
  return listener.port
}

describe("a port that is in use is told, and nothing is made", () => {
  it.each([
    [
      "LEDGER_PORT",
      (port: number) => `Port ${port} of 127.0.0.1 is in use already. Set LEDGER_PORT`
    ],
    [
      "LEDGER_OPS_PORT",
      (port: number) => `port ${port} of 127.0.0.1 is in use already. Set LEDGER_OPS_PORT`
    ]
  ])("%s", async (variable, message) => {
    await using taken = await listen()
    await using program = startEmbedded(dataDir, { [variable]: String(taken.port) })
    assert.strictEqual(await program.exited, 1)
    assert.match(program.output(), /^error: .+$/, "one line and no more")
    assert.include(program.output(), message(taken.port))
    assert.isFalse(fs.existsSync(dataDir))
  })
})

describe("while the database does not answer yet", () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await createDatabase()
  })
  afterEach(() => database.drop())

  /** Starts the service before a database that accepts a connection and says nothing. */
  const startBefore = async (silent: Listener, env: Record<string, string>) => {
    const port = await freePort()
    const url = new URL(database.url)
    url.port = String(silent.port)
    const program = startEmbedded(dataDir, {
      ...env,
      LEDGER_PORT: String(port),
      DATABASE_URL: url.href
    })
    const connection = await silent.connection
    return { program, connection, address: `127.0.0.1:${port}` }
  }

  it.each([
    ["TCP", "http", "off"],
    ["TLS", "https", "local"]
  ])("who connects by %s waits, and is answered when it does", async (_name, scheme, mode) => {
    await using silent = await listen()
    const { address, connection, program } = await startBefore(silent, { LEDGER_TLS: mode })
    await using _stopped = program
    const waiting = startTalk(`${scheme}://${address}`, rawRequest("GET /status HTTP/1.1"))
    const leaving = startTalk(`http://${address}`, rawRequest("GET /status HTTP/1.1"))
    leaving.leave()
    await leaving.ended
    assert.notInclude(program.output(), "listening on")
    const upstream = net.connect({ host: "127.0.0.1", port: Number(new URL(database.url).port) })
    connection.pipe(upstream).pipe(connection)
    assert.strictEqual((await waiting.reply()).status, 200)
    assert.strictEqual(await program.baseUrl, `${scheme}://${address}`)
    waiting.end()
    await waiting.ended
    program.kill("SIGTERM")
    assert.strictEqual(await program.exited, 0, program.output())
  })

  it("SIGTERM ends it with exit code 0, and lets go who waits", async () => {
    await using silent = await listen()
    const { address, program } = await startBefore(silent, {})
    await using _stopped = program
    const waiting = startTalk(`http://${address}`, rawRequest("GET /status HTTP/1.1"))
    program.kill("SIGTERM")
    assert.strictEqual(await program.exited, 0, program.output())
    await waiting.ended
    assert.strictEqual(program.output(), "")
  })
})
