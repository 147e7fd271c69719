// The operations port (LEDGER_OPS_PORT): plain HTTP on loopback for those who run the service, with
// no data of workspaces: is it alive, is it ready, and its metrics.
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import type { LedgerClock } from "../domain/ledgerClock.ts"
import { measureDeliveries } from "../domain/ledgerMetrics.ts"
import { ListenError } from "./server.ts"

type Services = SqlClient.SqlClient | LedgerClock

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const TEXT = "text/plain; charset=utf-8"
const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

const isDatabaseReachable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select 1`
}).pipe(Effect.timeout("2 seconds"), Effect.exit, Effect.map(Exit.isSuccess))

/** Metrics are told also while the database is away: those of the outbox are then the last known. */
const measured = measureDeliveries.pipe(Effect.timeout("2 seconds"), Effect.ignore)

const answers = {
  "/healthz": Effect.succeed({ status: 200, type: TEXT, body: "ok\n" }),
  "/readyz": Effect.map(isDatabaseReachable, (ready) =>
    ready
      ? { status: 200, type: TEXT, body: "ready\n" }
      : { status: 503, type: TEXT, body: "the database cannot be reached\n" }
  ),
  "/metrics": Effect.map(Effect.andThen(measured, PrometheusMetrics.format()), (body) => ({
    status: 200,
    type: PROMETHEUS,
    body
  }))
} satisfies Record<string, Effect.Effect<Answer, never, Services>>

const NOTHING: Answer = { status: 404, type: TEXT, body: "try /healthz, /readyz or /metrics\n" }

/** Listens on 127.0.0.1 until the scope closes; answers its address. */
export const serveOperations = Effect.fnUntraced(function* (
  port: number
): Effect.fn.Return<string, ListenError, Services | Scope.Scope> {
  const runPromise = Effect.runPromiseWith(yield* Effect.context<Services>())
  const server = http.createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1)
    const known = Object.hasOwn(answers, path) ? answers[path as keyof typeof answers] : undefined
    void runPromise(known ?? Effect.succeed(NOTHING)).then(({ body, status, type }) => {
      response.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" }).end(body)
    })
  })
  const listen = Effect.callback<string, ListenError>((resume) => {
    server.once("error", () => {
      const message = `The operations port ${port} of 127.0.0.1 cannot be opened. Set LEDGER_OPS_PORT to another one.`
      resume(Effect.fail(new ListenError({ message })))
    })
    server.listen({ host: "127.0.0.1", port }, () => {
      const { port: opened } = server.address() as AddressInfo
      resume(Effect.succeed(`http://127.0.0.1:${opened}`))
    })
  })
  return yield* Effect.acquireRelease(listen, () =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
})
