// The operations port (LEDGER_OPS_PORT): plain HTTP on loopback for those who run the service, with
// no data of workspaces: is it alive, is it ready, and its metrics.
import * as http from "node:http"
import { Effect, Exit, type Scope } from "effect"
import { PrometheusMetrics } from "effect/observability"
import type { SqlClient } from "effect/sql"
import type { LedgerClock } from "../domain/ledgerClock.ts"
import { measureDeliveries } from "../domain/ledgerMetrics.ts"
import { ping } from "../domain/store/server.ts"
import { type TakenPort, takePort } from "./port.ts"

type Services = SqlClient.SqlClient | LedgerClock

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const TEXT = "text/plain; charset=utf-8"
const PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"

const isDatabaseReachable = ping.pipe(
  Effect.timeout("2 seconds"),
  Effect.exit,
  Effect.map(Exit.isSuccess)
)

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

/** Takes the operations port, which is always on loopback. */
export const takeOperationsPort = (port: number) =>
  takePort({
    host: "127.0.0.1",
    port,
    problemOf: ({ code }) =>
      `The operations port ${port} of 127.0.0.1 ${code === "EADDRINUSE" ? "is in use already" : "cannot be opened"}. Set LEDGER_OPS_PORT to another one.`
  })

/** Answers on the port until the scope closes. */
export const serveOperations = Effect.fnUntraced(function* (
  port: TakenPort
): Effect.fn.Return<void, never, Services | Scope.Scope> {
  const runPromise = Effect.runPromiseWith(yield* Effect.context<Services>())
  const server = http.createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?", 1)
    const known = Object.hasOwn(answers, path) ? answers[path as keyof typeof answers] : undefined
    void runPromise(known ?? Effect.succeed(NOTHING)).then(({ body, status, type }) => {
      response.writeHead(status, { "Content-Type": type, "Cache-Control": "no-store" }).end(body)
    })
  })
  // As at the main port: a client that has shut down its writing side is still answered.
  Object.assign(server, { httpAllowHalfOpen: true })
  yield* Effect.acquireRelease(port.handTo(server), () =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    })
  )
})
