// From commit to arrival, on a service that has nothing else to do: one move after another, each made
// when the callback of the last one has come.
import * as http from "node:http"
import { Effect } from "effect"
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
  const client = yield* keepAliveClient(ledger)
  const fromAnswer: Array<number> = []
  const fromRequest: Array<number> = []
  let lastBody = ""
  for (let move = 0; move < moves; move++) {
    const committed = yield* client.perform({ op: "commit", title: `Work item ${move}` })
    const id = JSON.parse(committed.body).record_id
    const claim = client.perform({ op: "claim", id, owner: "agent:one" })
    const [answer, { atMillis, body }] = yield* receiver.next(claim)
    fromAnswer.push(atMillis - answer.answeredAtMillis)
    fromRequest.push(atMillis - answer.sentAtMillis)
    lastBody = body
  }
  const latency: Latency = {
    fromAnswer: quantilesOf(fromAnswer),
    fromRequest: quantilesOf(fromRequest),
    moves
  }
  return { latency, lastBody }
})

const quantilesOf = (values: ReadonlyArray<number>): Quantiles => {
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
const keepAliveClient = ({ accesses, baseUrl }: Subject) =>
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
          const headers = { ...headersOf(accesses[0]), "Content-Length": Buffer.byteLength(text) }
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
