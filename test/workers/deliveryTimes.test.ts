// The retry table in hours: real PostgreSQL, a real receiver, and a clock that the test moves. Nothing
// looks into the outbox but what the test calls.
import { PgClient } from "@effect/sql-pg"
import { assert, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, describe } from "vitest"
import { DeliveryHandoff } from "../../src/domain/deliveryHandoff.ts"
import { Ids } from "../../src/domain/ids.ts"
import { LedgerClock } from "../../src/domain/ledgerClock.ts"
import { performOperation } from "../../src/domain/performOperation.ts"
import { LOOPBACK_ALLOWED } from "../../src/domain/receiverAddress.ts"
import { ReceiverPolicy } from "../../src/domain/receiverPolicy.ts"
import { createWorkspace } from "../../src/domain/settings.ts"
import { listWebhookDeliveries, resendDelivery } from "../../src/domain/webhookLog.ts"
import { WorkspaceActors } from "../../src/domain/workspaceActor.ts"
import { DeliveryWorkers } from "../../src/workers/deliveryWorkers.ts"
import { DEFAULT_RETRY_DELAYS } from "../../src/workers/retryPolicy.ts"
import { type AttemptOutcome, WebhookSender } from "../../src/workers/sendWebhook.ts"
import { createDatabase, type TestDatabase, withClient } from "../support/postgres.ts"
import { startReceiver } from "../support/receiver.ts"
import { assertCallback, SECRET } from "./deliveries.ts"

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const realSender = WebhookSender.layer({
  timeout: "10 seconds",
  allow: LOOPBACK_ALLOWED,
  userAgent: "workspace-ledger/0.0.0-test"
})

const layerOver = <A, R>(handoff: Layer.Layer<A | DeliveryHandoff, never, R>) =>
  WorkspaceActors.layer.pipe(
    Layer.provideMerge(handoff),
    Layer.provideMerge(Layer.mergeAll(Ids.layer, LedgerClock.layerLocal)),
    Layer.provideMerge(PgClient.layer({ url: Redacted.make(database.url), maxConnections: 4 })),
    Layer.provide(Layer.succeed(ReceiverPolicy, LOOPBACK_ALLOWED)),
    Layer.provide(Logger.layer([]))
  )

/** The write path and one replica's workers, without their loops. */
const replica = (sender: Layer.Layer<WebhookSender>) =>
  layerOver(
    DeliveryWorkers.layerPassive({ retryDelays: DEFAULT_RETRY_DELAYS }).pipe(Layer.provide(sender))
  )

const operate = Effect.fnUntraced(function* (workspaceId: string, operation: object) {
  const caller = { workspaceId, tokenId: "test", actor: "agent:test", role: "member" as const }
  return (yield* performOperation(caller, operation, undefined)).record_id
})

/** A workspace of its own, with one endpoint. */
const workspaceWith = Effect.fnUntraced(function* (url: string) {
  const { workspace } = yield* createWorkspace("test")
  yield* operate(workspace.id, { op: "webhook.register", url, secret: SECRET })
  return workspace.id
})

const claim = Effect.fnUntraced(function* (workspaceId: string) {
  const id = yield* operate(workspaceId, { op: "commit", title: "to be claimed" })
  return yield* operate(workspaceId, { op: "claim", id, owner: "agent:one" })
})

/** The workspace's only delivery. */
const onlyDelivery = Effect.fnUntraced(function* (workspaceId: string) {
  const deliveries = yield* listWebhookDeliveries(workspaceId, {})
  assert.lengthOf(deliveries, 1)
  const [delivery] = deliveries
  if (delivery === undefined) return yield* Effect.die("no delivery")
  return delivery
})

const SECONDS_BETWEEN = [30, 2 * 60, 10 * 60, 60 * 60, 6 * 60 * 60]

const seconds = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 1_000

describe("six attempts", () => {
  it.effect("at 0, 30 s, 2 min, 10 min, 1 h and 6 h after each failed one, and then failed", () =>
    Effect.gen(function* () {
      const receiver = yield* Effect.acquireRelease(
        Effect.promise(() => startReceiver({ answer: { status: 500, body: "broken" } })),
        (one) => Effect.promise(one.stop)
      )
      const workspaceId = yield* workspaceWith(receiver.url)
      const workers = yield* DeliveryWorkers
      const next = Effect.promise(receiver.next)
      yield* claim(workspaceId)
      const first = yield* next
      assertCallback(first)
      yield* workers.idle

      for (const [index, delay] of SECONDS_BETWEEN.entries()) {
        const { next_attempt_at, status } = yield* onlyDelivery(workspaceId)
        assert.strictEqual(status, "pending")
        assert.isNotNull(next_attempt_at)
        yield* TestClock.adjust(Duration.millis(delay * 1_000 - 1))
        assert.strictEqual(yield* workers.deliverDue, 0, `before retry ${index + 1}`)
        yield* TestClock.adjust(Duration.millis(1))
        assert.strictEqual(yield* workers.deliverDue, 1, `retry ${index + 1}`)
        const request = yield* next
        assertCallback(request, { attempt: index + 2 })
        assert.deepEqual(request.body, first.body)
        assert.strictEqual(request.headers["webhook-id"], first.headers["webhook-id"])
        const sentAt = Number(request.headers["webhook-timestamp"])
        assert.strictEqual(sentAt, Date.parse(next_attempt_at ?? "") / 1_000)
        yield* workers.idle
      }

      const failed = yield* onlyDelivery(workspaceId)
      assert.deepInclude(failed, { status: "failed", next_attempt_at: null })
      assert.isNotNull(failed.ended_at)
      assert.deepStrictEqual(
        failed.attempts.map(({ attempt, failure, response, status }) => ({
          attempt,
          failure,
          response,
          status
        })),
        [1, 2, 3, 4, 5, 6].map((attempt) => ({
          attempt,
          failure: "status",
          response: "broken",
          status: 500
        }))
      )
      const times = failed.attempts.map((attempt) => attempt.started_at)
      assert.deepStrictEqual(
        times.slice(1).map((time, index) => seconds(times[index] ?? "", time)),
        SECONDS_BETWEEN
      )
      assert.strictEqual(seconds(times[0] ?? "", times[5] ?? ""), 25_950)

      yield* TestClock.adjust("7 days")
      assert.strictEqual(yield* workers.deliverDue, 0)
      assert.lengthOf(receiver.received, 6)

      // From the log it can be sent again, with retries of its own.
      yield* resendDelivery(workspaceId, failed.id)
      receiver.answer(200)
      assert.strictEqual(yield* workers.deliverDue, 1)
      const resent = yield* next
      assertCallback(resent, { attempt: 1 })
      assert.deepEqual(resent.body, first.body)
      assert.strictEqual(resent.headers["webhook-id"], first.headers["webhook-id"])
      yield* workers.idle
    }).pipe(Effect.provide(replica(realSender)))
  )
})

const OUTCOME: AttemptOutcome = {
  durationMillis: 10_000,
  status: null,
  failure: "timeout",
  responseText: "",
  detail: null
}

describe("a delay", () => {
  it.effect("is counted from the end of the failed attempt, not from its start", () => {
    const asleep = Latch.makeUnsafe()
    let sent = 0
    const slow = Layer.succeed(
      WebhookSender,
      WebhookSender.of({
        send: () =>
          Effect.gen(function* () {
            sent += 1
            const tenSeconds = yield* Effect.forkChild(Effect.sleep("10 seconds"), {
              startImmediately: true
            })
            yield* Latch.open(asleep)
            yield* Fiber.join(tenSeconds)
            return OUTCOME
          })
      })
    )
    return Effect.gen(function* () {
      const workers = yield* DeliveryWorkers
      yield* claim(yield* workspaceWith("http://127.0.0.1:8080/"))
      yield* Latch.await(asleep)
      yield* Latch.close(asleep)
      yield* TestClock.adjust("10 seconds")
      yield* workers.idle
      yield* TestClock.adjust(Duration.millis(29_999))
      assert.strictEqual(yield* workers.deliverDue, 0)
      yield* TestClock.adjust(Duration.millis(1))
      assert.strictEqual(yield* workers.deliverDue, 1)
      yield* Latch.await(asleep)
      yield* TestClock.adjust("10 seconds")
      yield* workers.idle
      assert.strictEqual(sent, 2)
    }).pipe(Effect.provide(replica(slow)))
  })
})

it.effect("what a layer says that PostgreSQL cannot store is logged all the same", () => {
  const said = (detail: string): Layer.Layer<WebhookSender> =>
    Layer.succeed(
      WebhookSender,
      WebhookSender.of({ send: () => Effect.succeed({ ...OUTCOME, failure: "tls", detail }) })
    )
  const logged = (detail: string) =>
    Effect.gen(function* () {
      const workers = yield* DeliveryWorkers
      const workspaceId = yield* workspaceWith("http://127.0.0.1:8080/")
      yield* claim(workspaceId)
      yield* workers.idle
      return (yield* onlyDelivery(workspaceId)).attempts.map((attempt) => attempt.detail)
    }).pipe(Effect.provide(replica(said(detail))))
  return Effect.gen(function* () {
    assert.deepStrictEqual(yield* logged("DNS:a\0b, \ud800!"), ["DNS:a\ufffdb, \ufffd!"])
    assert.deepStrictEqual(yield* logged(`${"x".repeat(299)}🚀`), [`${"x".repeat(299)}\ufffd`])
    assert.deepStrictEqual(yield* logged("x".repeat(10_000)), ["x".repeat(300)])
    assert.deepStrictEqual(yield* logged(""), [null])
  })
})

describe("a claim", () => {
  it.effect("is taken over when its lease has ended, and repeats the number of the attempt", () =>
    Effect.gen(function* () {
      const receiver = yield* Effect.acquireRelease(
        Effect.promise(() => startReceiver()),
        (one) => Effect.promise(one.stop)
      )
      const { id, workspaceId } = yield* Effect.gen(function* () {
        const workspaceId = yield* workspaceWith(receiver.url)
        yield* claim(workspaceId)
        return { workspaceId, id: (yield* onlyDelivery(workspaceId)).id }
      }).pipe(Effect.provide(layerOver(DeliveryHandoff.layerNone)))
      yield* Effect.promise(() => holdClaim(id, 10_000))
      yield* Effect.gen(function* () {
        const workers = yield* DeliveryWorkers
        yield* TestClock.setTime(9_999)
        assert.strictEqual(yield* workers.deliverDue, 0)
        yield* TestClock.setTime(10_000)
        assert.strictEqual(yield* workers.deliverDue, 1)
        assertCallback(yield* Effect.promise(receiver.next), { attempt: 1 })
        yield* workers.idle
        const { attempts, status } = yield* onlyDelivery(workspaceId)
        assert.strictEqual(status, "delivered")
        assert.lengthOf(attempts, 1)
      }).pipe(Effect.provide(replica(realSender)))
    })
  )

  it.effect(
    "is renewed before a look when heartbeats failed: what is being sent is not sent again",
    () =>
      Effect.gen(function* () {
        const answer = Promise.withResolvers<void>()
        const receiver = yield* Effect.acquireRelease(
          Effect.promise(() => startReceiver({ answer: { after: answer.promise } })),
          (one) => Effect.promise(one.stop)
        )
        const workers = yield* DeliveryWorkers
        const workspaceId = yield* workspaceWith(receiver.url)
        yield* claim(workspaceId)
        assertCallback(yield* Effect.promise(receiver.next), { attempt: 1 })
        // Longer than the lease, without a heartbeat.
        yield* TestClock.adjust("11 seconds")
        assert.strictEqual(yield* workers.deliverDue, 0)
        answer.resolve()
        yield* workers.idle
        const { attempts, status } = yield* onlyDelivery(workspaceId)
        assert.strictEqual(status, "delivered")
        assert.lengthOf(attempts, 1)
        assert.lengthOf(receiver.received, 1)
      }).pipe(Effect.provide(replica(realSender)))
  )
})

/** The delivery as a replica leaves it that was killed: claimed, until its lease ends. */
const holdClaim = (id: string, until: number) =>
  withClient(database.url, (client) =>
    client.query(
      `update webhook_deliveries set claimed_by = 'killed', claim_token = 'killed',
       claimed_until = $2 where id = $1`,
      [id, new Date(until)]
    )
  )
