// `npm run bench deliveries`: how fast callbacks leave, beside graphile-worker and pg-boss making the
// same POST from the same machine, and how long one takes from its commit to its arrival.
import { randomBytes } from "node:crypto"
import { Effect, Schedule } from "effect"
import { measureLatencies } from "./deliveries/latency.ts"
import type { PeerName } from "./deliveries/messages.ts"
import { measureNeighbours } from "./deliveries/neighbours.ts"
import type { DeliveriesPlan } from "./deliveries/plan.ts"
import { type Receiver, startReceiver } from "./deliveries/receiverProcess.ts"
import { type DeliveriesReport, type DeliveryRun, figuresOf } from "./deliveries/report.ts"
import {
  ledgerSender,
  registerWebhook,
  type Sender,
  startBareSender,
  startPeerSender
} from "./deliveries/senders.ts"
import { query, startPostgres } from "./postgres.ts"
import { BenchError, usageOf } from "./processes.ts"
import { startLedger } from "./subjects.ts"

const PEERS: ReadonlyArray<PeerName> = ["graphile-worker", "pg-boss"]

export const benchDeliveries = Effect.fnUntraced(function* (plan: DeliveriesPlan) {
  const postgres = yield* startPostgres
  const receiver = yield* startReceiver
  const ledger = yield* startLedger(postgres, "ours", 3)
  const secret = randomBytes(32).toString("hex")
  yield* registerWebhook(ledger, 0, `${receiver.baseUrl}/moves`, secret)
  yield* Effect.logInfo("measuring from commit to arrival …")
  // Compiles what is hot.
  yield* measureLatencies(ledger, receiver, Math.ceil(plan.moves / 3))
  const { lastBody, latency } = yield* measureLatencies(ledger, receiver, plan.moves)

  const callbacks = {
    payload: lastBody,
    secret,
    urls: Array.from({ length: plan.endpoints }, (_, index) => `${receiver.baseUrl}/hooks/${index}`)
  }
  const ours = yield* ledgerSender(ledger, callbacks)
  const peers = yield* Effect.forEach(PEERS, (peer) => startPeerSender(postgres, peer, callbacks))
  const bare = yield* startBareSender(callbacks)
  const runs = yield* measureRates(plan, receiver, secret, [ours, ...peers, bare])
  const figures = ({ name }: Sender) => figuresOf(name, runs.get(name) ?? [])
  yield* Effect.logInfo("measuring beside endpoints that hang …")
  // Last, because what hangs is tried again.
  const neighbours = yield* measureNeighbours(ledger, receiver, {
    workspace: 2,
    moves: Math.ceil(plan.moves / 5),
    secret
  })
  const own = figures(ours)
  const others = peers.map(figures)
  return {
    backlog: plan.backlog,
    endpoints: plan.endpoints,
    ours: own,
    peers: others,
    bare: figures(bare),
    ratio: own.perSecond / Math.max(...others.map((peer) => peer.perSecond)),
    latency,
    neighbours
  } satisfies DeliveriesReport
}, Effect.scoped)

/** In turn, each round beginning with another sender, so that drift hurts all alike. */
const measureRates = Effect.fnUntraced(function* (
  plan: DeliveriesPlan,
  receiver: Receiver,
  secret: string,
  senders: ReadonlyArray<Sender>
) {
  const runs = new Map<string, Array<DeliveryRun>>()
  for (const sender of senders) {
    yield* Effect.logInfo(`warming up ${sender.name} …`)
    yield* deliver(receiver, secret, sender, plan.warmUp)
    // What autovacuum does within a minute, for each sender alike: on a database this new the planner
    // knows nothing yet, and the figures would be those of its guesses.
    const { databaseUrl } = sender
    if (databaseUrl === undefined) continue
    yield* query(databaseUrl, (client) => client.query("vacuum analyze"))
  }
  for (let round = 0; round < plan.rounds; round++) {
    yield* Effect.logInfo(`measuring deliveries, round ${round + 1} of ${plan.rounds} …`)
    for (let turn = 0; turn < senders.length; turn++) {
      const sender = senders[(round + turn) % senders.length]
      if (sender === undefined) continue
      const run = yield* deliver(receiver, secret, sender, plan.backlog)
      runs.set(sender.name, [...(runs.get(sender.name) ?? []), run])
    }
  }
  return runs
})

/** From the first to the last arrival; then all attempts have to be in the log, each once. */
const deliver = Effect.fnUntraced(function* (
  receiver: Receiver,
  secret: string,
  sender: Sender,
  count: number
) {
  const before = yield* sender.progress
  const usageBefore = usageOf(sender.pid)
  const arrived = yield* receiver.expect({ count, secret }, sender.enqueue(count))
  const usageAfter = usageOf(sender.pid)
  yield* requireLogged(sender, before.attempts + count)
  if (arrived.repeats > 0 || arrived.forgeries > 0) {
    const message = `${sender.name}: ${arrived.repeats} callbacks came twice, ${arrived.forgeries} were not signed.`
    return yield* new BenchError({ message })
  }
  const cpuMillis = usageBefore && usageAfter && usageAfter.cpuMillis - usageBefore.cpuMillis
  return {
    perSecond: (count - 1) / ((arrived.lastAtMillis - arrived.firstAtMillis) / 1000),
    cpuMicros: cpuMillis === undefined ? undefined : (cpuMillis * 1000) / count
  } satisfies DeliveryRun
})

/** The last ones may still be on their way into the log when the receiver has them. */
const requireLogged = (sender: Sender, attempts: number) =>
  sender.progress.pipe(
    Effect.repeat({
      while: (progress) => progress.attempts < attempts || progress.left > 0,
      schedule: Schedule.spaced("50 millis")
    }),
    Effect.timeoutOrElse({
      duration: "15 seconds",
      orElse: () =>
        Effect.fail(new BenchError({ message: `${sender.name} did not log every attempt.` }))
    }),
    Effect.filterOrFail(
      (progress) => progress.attempts === attempts,
      () => new BenchError({ message: `${sender.name} logged another number of attempts.` })
    )
  )
