import { Effect, Logger } from "effect"
import pg from "pg"
import { startPostgres } from "./postgres.ts"
import { startLedger } from "./subjects.ts"
import { startReceiver } from "./deliveries/receiverProcess.ts"
import { ledgerSender, registerWebhook } from "./deliveries/senders.ts"
import { measureLatencies } from "./deliveries/latency.ts"
const N = Number(process.argv[2] ?? 2000)
const ANALYZE = process.argv[3] === "analyze"
const prog = Effect.gen(function* () {
  const postgres = yield* startPostgres
  const receiver = yield* startReceiver
  const ledger = yield* startLedger(postgres, "ours", 2)
  yield* registerWebhook(ledger, 0, receiver.baseUrl + "/moves", "s".repeat(64))
  const { lastBody } = yield* measureLatencies(ledger, receiver, 50)
  const urls = Array.from({ length: 16 }, (_, i) => `${receiver.baseUrl}/hooks/${i}`)
  const ours = yield* ledgerSender(ledger, { payload: lastBody, secret: "s".repeat(64), urls })
  const c = new pg.Client(ledger.databaseUrl)
  yield* Effect.promise(() => c.connect())
  const counts = new Map<string, number>()
  let samples = 0, fails = 0
  const t = setInterval(() => { c.query("select state, wait_event, left(regexp_replace(query,'\\s+',' ','g'),60) q from pg_stat_activity where datname='ours' and pid<>pg_backend_pid() and state='active'").then(r => { samples++; for (const x of r.rows) { const k = `${x.wait_event} | ${x.q}`; counts.set(k, (counts.get(k) ?? 0) + 1) } }, () => fails++) }, 10)
  for (let round = 0; round < 3; round++) {
    counts.clear(); samples = 0
    const a = yield* receiver.expect({ count: N, secret: "s".repeat(64) }, Effect.gen(function* () { yield* ours.enqueue(N); if (ANALYZE) yield* Effect.promise(() => c.query("analyze")) }))
    console.log("round", round, "rate", Math.round(N / ((a.lastAtMillis - a.firstAtMillis) / 1000)), "samples", samples, "fails", fails)
    console.log([...counts].sort((x, y) => y[1] - x[1]).slice(0, 6))
  }
  clearInterval(t)
  yield* Effect.promise(() => c.end())
})
await Effect.runPromise(Effect.scoped(prog).pipe(Effect.provide(Logger.layer([]))))
process.exit(0)
