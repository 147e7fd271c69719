// The harness's side of the load generator: one process for all subjects, one job at a time.
import type { ChildProcess } from "node:child_process"
import * as path from "node:path"
import { Effect, type Scope } from "effect"
import type { Job, Outcome } from "./load/job.ts"
import { BenchError, startWorker } from "./processes.ts"

export interface Generator {
  readonly run: (job: Job) => Effect.Effect<Outcome, BenchError>
}

const MAIN = path.join(import.meta.dirname, "load", "main.ts")
/** A run whose last answers are this late is given up. */
const GRACE_SECONDS = 20

export const startGenerator: Effect.Effect<Generator, BenchError, Scope.Scope> = Effect.map(
  startWorker(MAIN),
  (child) => ({
    run: (job) =>
      ask(child, job).pipe(
        Effect.timeoutOrElse({
          duration: `${job.seconds + GRACE_SECONDS} seconds`,
          orElse: () => fail(job, "no answer in time")
        }),
        Effect.flatMap((outcome) =>
          outcome.failures === 0
            ? Effect.succeed(outcome)
            : fail(job, outcome.firstFailure ?? "unknown")
        )
      )
  })
)

const fail = (job: Job, reason: string) =>
  Effect.fail(new BenchError({ message: `Load on ${job.baseUrl} failed: ${reason}` }))

type Message = { readonly outcome: Outcome } | { readonly error: string }

const ask = (child: ChildProcess, job: Job) =>
  Effect.callback<Outcome, BenchError>((resume) => {
    const answered = (message: Message) => {
      child.removeListener("exit", ended)
      resume("outcome" in message ? Effect.succeed(message.outcome) : fail(job, message.error))
    }
    const ended = () => resume(fail(job, "the load generator ended"))
    child.once("message", answered)
    child.once("exit", ended)
    child.send(job)
  })
