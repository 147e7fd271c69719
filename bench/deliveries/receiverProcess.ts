// The harness's side of the receiver's process: what it has been sent, and when that came. In every
// pair of effects below the listening one begins first.
import type { ChildProcess } from "node:child_process"
import * as path from "node:path"
import { Effect, type Scope } from "effect"
import { BenchError, startWorker } from "../processes.ts"
import type { Arrival, Arrived, Expectation, ReceiverMessage } from "./messages.ts"

export interface Receiver {
  readonly baseUrl: string
  /** Counts what comes while `start` runs and after; resolves when the last of it has come. */
  readonly expect: <E>(
    expectation: Expectation,
    start: Effect.Effect<void, E>
  ) => Effect.Effect<Arrived, E | BenchError>
  /** Runs `start` and waits for the callbacks that it brings about: so many. */
  readonly take: <A, E>(
    count: number,
    start: Effect.Effect<A, E>
  ) => Effect.Effect<readonly [A, ReadonlyArray<Arrival>], E | BenchError>
}

const MAIN = path.join(import.meta.dirname, "receiver.ts")
const PATIENCE = "60 seconds"

export const startReceiver: Effect.Effect<Receiver, BenchError, Scope.Scope> = Effect.gen(
  function* () {
    const child = yield* startWorker(MAIN)
    const { port } = yield* tell<{ port: number }>(child, "port")
    return {
      baseUrl: `http://127.0.0.1:${port}`,
      expect: (expectation, start) =>
        Effect.gen(function* () {
          yield* tell<unknown>(child, expectation)
          const [message] = yield* Effect.all([nextMessage<ReceiverMessage>(child), start], {
            concurrency: 2
          })
          if ("arrived" in message) return message.arrived
          return yield* new BenchError({ message: "A callback came that nobody expected." })
        }),
      take: (count, start) =>
        Effect.gen(function* () {
          const [messages, started] = yield* Effect.all(
            [nextMessages<ReceiverMessage>(child, count), start],
            { concurrency: 2 }
          )
          const arrivals = messages.flatMap((message) =>
            "arrival" in message ? [message.arrival] : []
          )
          if (arrivals.length === count) return [started, arrivals] as const
          return yield* new BenchError({ message: "The receiver still counts." })
        })
    }
  }
)

/** Says something to a process and waits for what it says next. */
export const tell = <A>(child: ChildProcess, message: object | string) =>
  Effect.map(
    Effect.all([nextMessage<A>(child), Effect.sync(() => child.send(message))], { concurrency: 2 }),
    ([answer]) => answer
  )

const nextMessage = <A>(child: ChildProcess) =>
  Effect.map(nextMessages<A>(child, 1), ([message]) => message as A)

const nextMessages = <A>(child: ChildProcess, count: number) =>
  Effect.callback<ReadonlyArray<A>, BenchError>((resume) => {
    const messages: Array<A> = []
    const heard = (message: A) => {
      messages.push(message)
      if (messages.length < count) return
      child.removeListener("message", heard)
      resume(Effect.succeed(messages))
    }
    child.on("message", heard)
    return Effect.sync(() => child.removeListener("message", heard))
  }).pipe(
    Effect.timeoutOrElse({
      duration: PATIENCE,
      orElse: () => Effect.fail(new BenchError({ message: `Nothing came within ${PATIENCE}.` }))
    })
  )
