// One batch, one transaction, true answers: decides under the lock, writes, commits, and finds out
// what happened when the database does not say. Called by the workspace actor only.
import { Effect, Result, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { type Answer, type BatchOutcome, decideBatch } from "./decideBatch.ts"
import { DeliveryHandoff } from "./deliveryHandoff.ts"
import { InvalidRequest, ServerError, UNEXPECTED_MESSAGE, unavailable } from "./errors.ts"
import { Ids } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { recordLedgerTime } from "./ledgerMetrics.ts"
import type { OperationRequest } from "./operationRequest.ts"
import { type Handover, writeOutbox } from "./outbox.ts"
import { ReceiverPolicy } from "./receiverPolicy.ts"
import { loadNamed, saveOutcome } from "./store/batches.ts"
import { recordedOperations } from "./store/entries.ts"
import { DATABASE_AWAY, type DatabaseFailure, databaseFailure } from "./store/failures.ts"
import { lockHead } from "./store/heads.ts"

type Requests = ReadonlyArray<OperationRequest>
type Answers = ReadonlyArray<Answer>

/**
 * Performs the requests in their order and answers each of them. Never fails: what went wrong is
 * in the answers, and a `SERVER_ERROR` among them means «not performed».
 */
export const runBatch = Effect.fnUntraced(function* (workspaceId: string, requests: Requests) {
  const first = yield* attempt(workspaceId, requests)
  if (Result.isSuccess(first)) return first.success
  if (first.failure !== "unavailable") return yield* isolate(workspaceId, requests, first.failure)
  // A pooled connection may have died with a database that is back already: one more try.
  const second = yield* attempt(workspaceId, requests)
  if (Result.isSuccess(second)) return second.success
  if (second.failure !== "unavailable") return yield* isolate(workspaceId, requests, second.failure)
  return everyone(requests, Result.fail(DATABASE_AWAY))
})

const everyone = (requests: Requests, answer: Answer): Answers => requests.map(() => answer)

/** A batch with everything written, and what is to be sent of it once it is committed. */
interface Written {
  readonly outcome: BatchOutcome
  readonly handover: Handover
}

/** One transaction. A failure means that nothing was written. */
const attempt = Effect.fnUntraced(function* (workspaceId: string, requests: Requests) {
  const sql = yield* SqlClient.SqlClient
  let committing: Written | undefined
  const transaction = decideAndWrite(workspaceId, requests).pipe(
    Effect.tap((written) =>
      Effect.sync(() => {
        committing = written
      })
    ),
    sql.withTransaction
  )
  const committed = yield* transaction.pipe(
    Effect.map(
      (written): Result.Result<Written | undefined, DatabaseFailure> => Result.succeed(written)
    ),
    Effect.catchCause((cause) => {
      const failure = databaseFailure(cause)
      // Everything was written and COMMIT was on its way: only the database knows the outcome.
      if (committing !== undefined) return confirm(committing)
      return Effect.logWarning("A batch was rolled back", cause).pipe(
        Effect.as(Result.fail(failure ?? "refused"))
      )
    })
  )
  if (Result.isFailure(committed)) return Result.fail(committed.failure)
  const written = committed.success
  if (written === undefined) return Result.succeed(everyone(requests, WORKSPACE_GONE))
  yield* startSending(written.handover)
  return Result.succeed(written.outcome.answers)
})

const WORKSPACE_GONE: Answer = Result.fail(unavailable("The workspace cannot be reached."))

const decideAndWrite = Effect.fnUntraced(function* (workspaceId: string, requests: Requests) {
  const head = yield* lockHead(workspaceId)
  if (head === undefined) return undefined
  const now = yield* (yield* LedgerClock).now
  const loaded = yield* loadNamed(head, requests, now)
  const nextId = (yield* Ids).next
  const outcome = decideBatch(loaded, requests, { nextId, now, allow: yield* ReceiverPolicy })
  yield* saveOutcome(outcome, now)
  const handover = yield* writeOutbox(outcome, now)
  yield* recordLedgerTime(outcome.head, now)
  return { outcome, handover } satisfies Written
})

const startSending = Effect.fnUntraced(function* ({ deliveries, more }: Handover) {
  if (deliveries.length > 0 || more) (yield* DeliveryHandoff).handOver(deliveries, more)
})

/** Asked until the database answers: nobody is told «not performed» of something that was. */
const CONFIRM_SCHEDULE = Schedule.min([
  Schedule.exponential("50 millis"),
  Schedule.spaced("1 second")
])

/**
 * The connection was lost at COMMIT. The head's lock is taken first, so that a transaction which is
 * still committing on the server has ended before its entries are looked for.
 */
const confirm = Effect.fnUntraced(function* (written: Written) {
  const sql = yield* SqlClient.SqlClient
  const { outcome } = written
  if (outcome.entries.length === 0) return Result.succeed(written)
  const { workspaceId } = outcome.head
  let found: ReadonlySet<string> | undefined
  const recorded = yield* Effect.gen(function* () {
    yield* lockHead(workspaceId)
    found = yield* recordedOperations(workspaceId, outcome.entries)
    return found
  }).pipe(
    sql.withTransaction,
    // What was read under the lock is true, whatever becomes of the reading transaction.
    Effect.catchCause((cause) =>
      found === undefined ? Effect.failCause(cause) : Effect.succeed(found)
    ),
    Effect.tapCause((cause) =>
      Effect.logWarning("The outcome of a COMMIT is not known yet", cause)
    ),
    Effect.sandbox,
    Effect.retry(CONFIRM_SCHEDULE),
    Effect.orDie
  )
  return recorded.size === outcome.entries.length
    ? Result.succeed(written)
    : Result.fail<DatabaseFailure>("unavailable")
})

/**
 * The batch failed for a reason of its data: its operations run one by one, so that only the guilty
 * caller gets the error.
 */
const isolate = Effect.fnUntraced(function* (
  workspaceId: string,
  requests: Requests,
  failure: DatabaseFailure
) {
  if (requests.length === 1) return everyone(requests, refusal(failure))
  const answers: Array<Answer> = []
  for (const request of requests) {
    const alone = yield* attempt(workspaceId, [request])
    answers.push(...(Result.isSuccess(alone) ? alone.success : [refusal(alone.failure)]))
  }
  return answers
})

const refusal = (failure: DatabaseFailure): Answer => {
  switch (failure) {
    case "unavailable":
      return Result.fail(DATABASE_AWAY)
    case "values":
      return Result.fail(
        new InvalidRequest({ message: "The operation holds a value that cannot be stored." })
      )
    case "refused":
      return Result.fail(new ServerError({ message: UNEXPECTED_MESSAGE, retryAfterSeconds: 1 }))
  }
}
