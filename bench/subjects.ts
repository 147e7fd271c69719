// What is measured: our service and the peer, each a process of its own on a database of its own in
// the same PostgreSQL, with the same workspaces.
import { createHash, randomBytes, randomUUID } from "node:crypto"
import * as fs from "node:fs"
import { readFileSync } from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, type Scope } from "effect"
import type { Access } from "./load/job.ts"
import { ADD_WORKSPACE, PEER_SCHEMA } from "./peer/schema.ts"
import { type Postgres, query } from "./postgres.ts"
import { BenchError, type Program, startProgram } from "./processes.ts"

export interface Subject extends Program {
  readonly name: string
  readonly databaseUrl: string
  /** The first workspace is the one that most measures use. */
  readonly accesses: readonly [Access, ...ReadonlyArray<Access>]
}

export interface LedgerSubject extends Subject {
  /** Operations and transactions so far, from the histogram of batch sizes. */
  readonly batches: Effect.Effect<Batches, BenchError>
}

export interface Batches {
  readonly operations: number
  readonly transactions: number
}

const MAIN = path.join(import.meta.dirname, "..", "src", "main.ts")
const PEER = path.join(import.meta.dirname, "peer", "main.ts")

/** The flags that `npm start` gives to Node. */
const SERVICE_FLAGS = readFileSync(
  path.join(import.meta.dirname, "..", "scripts", "service-flags"),
  "utf8"
)
  .trim()
  .split(" ")

/** Our service as it is run in production, over plain HTTP, with `workspaces` workspaces. */
export const startLedger = Effect.fnUntraced(function* (
  postgres: Postgres,
  database: string,
  workspaces: number
): Effect.fn.Return<LedgerSubject, BenchError, Scope.Scope> {
  const databaseUrl = yield* postgres.createDatabase(database)
  const first: Access = {
    workspaceId: randomUUID(),
    token: `bench-${randomBytes(24).toString("hex")}`
  }
  const operationsPort = yield* freePort
  const dataDir = yield* temporaryFolder
  const program = yield* startProgram(
    MAIN,
    {
      NODE_ENV: "production",
      LEDGER_TLS: "off",
      LEDGER_PORT: "0",
      LEDGER_OPS_PORT: String(operationsPort),
      LEDGER_DATA_DIR: dataDir,
      LEDGER_LOG_LEVEL: "warn",
      DATABASE_URL: databaseUrl,
      LEDGER_BOOTSTRAP_WORKSPACE: first.workspaceId,
      LEDGER_BOOTSTRAP_TOKEN: first.token
    },
    SERVICE_FLAGS
  )
  const others = yield* Effect.forEach(Array.from({ length: workspaces - 1 }), (_, index) =>
    createWorkspace(program.baseUrl, first, `workspace ${index + 2}`)
  )
  return {
    ...program,
    name: "workspace-ledger",
    databaseUrl,
    accesses: [first, ...others],
    batches: Effect.map(
      fetchText(`http://127.0.0.1:${operationsPort}/metrics`),
      (metrics): Batches => ({
        operations: metricOf(metrics, "ledger_batch_operations_sum"),
        transactions: metricOf(metrics, "ledger_batch_operations_count")
      })
    )
  }
})

/** The hand-written service, with as many workspaces. */
export const startPeer = Effect.fnUntraced(function* (
  postgres: Postgres,
  database: string,
  workspaces: number
): Effect.fn.Return<Subject, BenchError, Scope.Scope> {
  const databaseUrl = yield* postgres.createDatabase(database)
  const newAccess = (): Access => ({
    workspaceId: randomUUID(),
    token: randomBytes(24).toString("hex")
  })
  const first = newAccess()
  const accesses: Subject["accesses"] = [
    first,
    ...Array.from({ length: workspaces - 1 }, newAccess)
  ]
  yield* query(databaseUrl, async (client) => {
    await client.query(PEER_SCHEMA)
    for (const { token, workspaceId } of accesses) {
      const hash = createHash("sha256").update(token).digest()
      await client.query(ADD_WORKSPACE.workspace, [workspaceId, "bench"])
      await client.query(ADD_WORKSPACE.head, [workspaceId])
      await client.query(ADD_WORKSPACE.token, [workspaceId, hash])
    }
  })
  const program = yield* startProgram(PEER, { NODE_ENV: "production", DATABASE_URL: databaseUrl })
  return { ...program, name: "Fastify + pg", databaseUrl, accesses }
})

export const headersOf = ({ token, workspaceId }: Access) => ({
  "X-Proxy-Token": token,
  "X-Workspace-Id": workspaceId,
  "Content-Type": "application/json"
})

export const fetchText = (url: string, init: RequestInit = {}) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(url, init)
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return text
    },
    catch: (error) => new BenchError({ message: `${url}: ${String(error)}` })
  })

const createWorkspace = (baseUrl: string, admin: Access, name: string) =>
  fetchText(`${baseUrl}/trpc/settings.workspaces.create`, {
    method: "POST",
    headers: headersOf(admin),
    body: JSON.stringify({ name })
  }).pipe(
    Effect.map((text): Access => {
      const { data } = JSON.parse(text).result
      return { workspaceId: data.workspace.id, token: data.token.token }
    })
  )

const metricOf = (metrics: string, name: string): number => {
  const line = metrics.split("\n").find((line) => line.startsWith(name))
  return line === undefined ? 0 : Number(line.split(" ").at(-1))
}

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "ledger-bench-"))),
  (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
)

const freePort = Effect.callback<number>((resume) => {
  const server = net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})
