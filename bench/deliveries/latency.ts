// From commit to arrival, on a service that has nothing else to do: one move after another, each made
// when the callback of the last one has come.
import * as http from "node:http"
import { Effect } from "effect"
import type { Access } from "../load/job.ts"
import { BenchError } from "../processes.ts"
import { headersOf, type Subject } from "../subjects.ts"
import { monotonicMillis } from "./messages.ts"
import type { Receiver } from "./receiverProcess.ts"

export interface Quantiles {
  readonly p50Millis: number
  readonly p99Millis: number
}

export interface Latency {
  /** From the client's sight of the answer, which the service sends after COMMIT, to the arrival. */
  readonly fromAnswer: Quantiles
  /** From before the request was sent: the write itself included. */
  readonly fromRequest: Quantiles
  readonly moves: number
}

export const measureLatencies = Effect.fnUntraced(function* (
  ledger: Subject,
  receiver: Receiver,
  moves: number
) {
  const { arrivals, lastBody } = yield* measureArrivals(ledger, receiver, { moves, callbacks: 1 })
  const latency: Latency = {
    fromAnswer: quantilesOf(arrivals.map((arrival) => arrival.fromAnswer)),
    fromRequest: quantilesOf(arrivals.map((arrival) => arrival.fromRequest)),
    moves
  }
  return { latency, lastBody }
})

/** Milliseconds to one arrival. */
interface Taken {
  readonly fromAnswer: number
  readonly fromRequest: number
}

/** One move after another in a workspace, each bringing so many callbacks. */
export const measureArrivals = Effect.fnUntraced(function* (
  ledger: Subject,
  receiver: Receiver,
  options: {
    readonly moves: number
    readonly callbacks: number
    /** Index of the workspace; the first if not given. */
    readonly workspace?: number
  }
) {
  const client = yield* keepAliveClient(
    ledger.baseUrl,
    ledger.accesses[options.workspace ?? 0] ?? ledger.accesses[0]
  )
  const taken: Array<Taken> = []
  let lastBody = ""
  for (let move = 0; move < options.moves; move++) {
    const committed = yield* client.perform({ op: "commit", title: `Work item ${move}` })
    const id = JSON.parse(committed.body).record_id
    const claim = client.perform({ op: "claim", id, owner: "agent:one" })
    const [answer, arrivals] = yield* receiver.take(options.callbacks, claim)
    for (const { atMillis, body } of arrivals) {
      taken.push({
        fromAnswer: atMillis - answer.answeredAtMillis,
        fromRequest: atMillis - answer.sentAtMillis
      })
      lastBody = body
    }
  }
  return { arrivals: taken, lastBody }
})

export const quantilesOf = (values: ReadonlyArray<number>): Quantiles => {
  const sorted = values.toSorted((one, other) => one - other)
  const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return { p50Millis: quantile(0.5), p99Millis: quantile(0.99) }
}

interface Answer {
  readonly sentAtMillis: number
  readonly answeredAtMillis: number
  readonly body: string
}

/** One connection that stays open. */
const keepAliveClient = (baseUrl: string, access: Access) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new http.Agent({ keepAlive: true, maxSockets: 1 })),
      (agent) => Effect.sync(() => agent.destroy())
    ),
    (agent) => ({
      perform: (operation: object) =>
        Effect.callback<Answer, BenchError>((resume) => {
          const fail = (problem: string) =>
            resume(Effect.fail(new BenchError({ message: `POST /ops failed: ${problem}` })))
          const text = JSON.stringify(operation)
          const headers = { ...headersOf(access), "Content-Length": Buffer.byteLength(text) }
          const sentAtMillis = monotonicMillis()
          const request = http.request(`${baseUrl}/ops`, { method: "POST", agent, headers })
          request.once("error", (error) => fail(error.message))
          request.once("response", (response) => {
            let body = ""
            response.setEncoding("utf8")
            response.on("data", (chunk) => {
              body += chunk
            })
            response.once("end", () => {
              const answeredAtMillis = monotonicMillis()
              if (response.statusCode !== 200) return fail(`${response.statusCode} ${body}`)
              resume(Effect.succeed({ sentAtMillis, answeredAtMillis, body }))
            })
          })
          request.end(text)
        })
    })
  )
