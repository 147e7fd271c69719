// The workspace actor: a mailbox and the fiber that empties it. Everything that waits is performed
// as one batch in one transaction; this is the only way to write the ledger. An actor lives while it
// has mail.
import { Context, Deferred, Effect, FiberSet, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { Answer } from "./decideBatch.ts"
import { DeliveryHandoff } from "./deliveryHandoff.ts"
import { type LedgerError, ServerError, UNEXPECTED_MESSAGE, unavailable } from "./errors.ts"
import { Ids } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { recordBatch } from "./ledgerMetrics.ts"
import type { OperationRequest } from "./operationRequest.ts"
import { runBatch } from "./runBatch.ts"
import type { OperationReceipt } from "./vocabulary.ts"

/** One caller's operation. Its fiber only awaits the answer. */
interface Mail {
  readonly request: OperationRequest
  readonly answer: Deferred.Deferred<OperationReceipt, LedgerError>
}

/** What waits, in the order of its arrival. What was taken is not here: it is not cancelled. */
type Mailbox = Set<Mail>

/** Bounds of all mailboxes together; a write beyond them is refused at once. */
const MAILBOX_OPERATIONS = 10_000
const MAILBOX_CHARACTERS = 64 * 1024 * 1024
/** Bounds of one batch, so that no transaction holds a workspace for long. */
const BATCH_OPERATIONS = 500
const BATCH_CHARACTERS = 8 * 1024 * 1024

/** How long stopping waits for what was taken: longer only while the database is away. */
const DRAIN_TIMEOUT = "2 seconds"

export class WorkspaceActors extends Context.Service<
  WorkspaceActors,
  {
    /** Performs one operation. Answers when it is durable, or fails with nothing performed. */
    readonly perform: (
      workspaceId: string,
      request: OperationRequest
    ) => Effect.Effect<OperationReceipt, LedgerError>
  }
>()("workspace-ledger/domain/WorkspaceActors") {
  static readonly layer = Layer.effect(
    WorkspaceActors,
    Effect.gen(function* () {
      const services = yield* Effect.context<
        SqlClient.SqlClient | Ids | LedgerClock | DeliveryHandoff
      >()
      const actors = yield* FiberSet.make()
      const mailboxes = new Map<string, Mailbox>()
      const held = { operations: 0, characters: 0 }
      let stopping = false
      // Stopping refuses new mail and waits until what was taken is answered.
      yield* Effect.addFinalizer(() => {
        stopping = true
        return FiberSet.awaitEmpty(actors).pipe(Effect.timeoutOption(DRAIN_TIMEOUT))
      })

      const work = Effect.fnUntraced(function* (workspaceId: string, mailbox: Mailbox) {
        while (mailbox.size > 0) {
          const batch = takeBatch(mailbox)
          yield* performBatch(workspaceId, batch)
        }
        mailboxes.delete(workspaceId)
      }, Effect.provideContext(services))

      const deliver = Effect.fnUntraced(function* (workspaceId: string, mail: Mail) {
        const mailbox = mailboxes.get(workspaceId)
        if (mailbox !== undefined) {
          mailbox.add(mail)
          return
        }
        const started: Mailbox = new Set([mail])
        mailboxes.set(workspaceId, started)
        yield* FiberSet.run(actors, work(workspaceId, started))
      })

      const perform = (workspaceId: string, request: OperationRequest) =>
        Effect.suspend(() => {
          if (stopping) return unavailable("The service is stopping.")
          const characters = request.payload.length
          if (
            held.operations >= MAILBOX_OPERATIONS ||
            held.characters + characters > MAILBOX_CHARACTERS
          ) {
            return unavailable("The service is overloaded.")
          }
          held.operations += 1
          held.characters += characters
          const answer = Deferred.makeUnsafe<OperationReceipt, LedgerError>()
          const mail: Mail = { request, answer }
          return deliver(workspaceId, mail).pipe(
            Effect.andThen(Deferred.await(answer)),
            Effect.ensuring(
              Effect.sync(() => {
                // A caller that left before its operation was taken takes it along.
                mailboxes.get(workspaceId)?.delete(mail)
                held.operations -= 1
                held.characters -= characters
              })
            )
          )
        })
      return WorkspaceActors.of({ perform })
    })
  )
}

/** Everything that waits, up to the bounds of a batch; at least one. */
const takeBatch = (mailbox: Mailbox): ReadonlyArray<Mail> => {
  const batch: Array<Mail> = []
  let characters = 0
  for (const mail of mailbox) {
    characters += mail.request.payload.length
    if (batch.length === BATCH_OPERATIONS) break
    if (batch.length > 0 && characters > BATCH_CHARACTERS) break
    mailbox.delete(mail)
    batch.push(mail)
  }
  return batch
}

const performBatch = Effect.fnUntraced(function* (workspaceId: string, batch: ReadonlyArray<Mail>) {
  yield* recordBatch(batch.length)
  const requests = batch.map((mail) => mail.request)
  const answers = yield* runBatch(workspaceId, requests).pipe(
    // A defect must not end the actor, and its callers must not wait for ever.
    Effect.catchCause((cause) =>
      Effect.logError("A batch failed unexpectedly", cause).pipe(Effect.as([]))
    )
  )
  for (const [index, mail] of batch.entries()) {
    Deferred.doneUnsafe(mail.answer, Effect.fromResult(answers[index] ?? UNEXPECTED))
  }
})

const UNEXPECTED: Answer = Result.fail(
  new ServerError({ message: UNEXPECTED_MESSAGE, retryAfterSeconds: 1 })
)
