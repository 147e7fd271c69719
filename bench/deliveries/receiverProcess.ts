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
  /** Runs `start` and waits for the one callback that it brings about. */
  readonly next: <A, E>(
    start: Effect.Effect<A, E>
  ) => Effect.Effect<readonly [A, Arrival], E | BenchError>
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
      next: (start) =>
        Effect.gen(function* () {
          const [message, started] = yield* Effect.all(
            [nextMessage<ReceiverMessage>(child), start],
            { concurrency: 2 }
          )
          if ("arrival" in message) return [started, message.arrival] as const
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
  Effect.callback<A, BenchError>((resume) => {
    const heard = (message: A) => resume(Effect.succeed(message))
    child.once("message", heard)
    return Effect.sync(() => child.removeListener("message", heard))
  }).pipe(
    Effect.timeoutOrElse({
      duration: PATIENCE,
      orElse: () => Effect.fail(new BenchError({ message: `Nothing came within ${PATIENCE}.` }))
    })
  )
