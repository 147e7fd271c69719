// The workspace actor: what waits together is performed together, in mailbox order, and the mailbox
// has an end. The workspace is held from outside, so that who waits is no matter of chance.
import { assert } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { afterAll, beforeAll, describe, it } from "vitest"
import type { LedgerError } from "../../src/domain/errors.ts"
import { performOperation } from "../../src/domain/performOperation.ts"
import type { OperationReceipt } from "../../src/domain/vocabulary.ts"
import { readEntries, until, whileHeld } from "../faults/database.ts"
import { assertGapless } from "../faults/load.ts"
import { openLedger, type TestLedger } from "../support/ledger.ts"
import { readMetric } from "../support/metrics.ts"
import { withClient } from "../support/postgres.ts"
import { makeCaller, startService, type TestService } from "../support/service.ts"

type Sent = Fiber.Fiber<OperationReceipt, LedgerError>

let ledger: TestLedger
let workspaceId: string
beforeAll(async () => {
  ledger = await openLedger()
})
afterAll(() => ledger[Symbol.asyncDispose]())

/** Each test has a workspace and a mailbox of its own, and finds only its own entries. */
const newWorkspace = async () => {
  await withClient(ledger.database.url, (client) => client.query("delete from ledger_entries"))
  workspaceId = await ledger.workspace()
}

/** Puts the operations into the mailbox, in their order, before this resolves. */
const send = (
  operations: ReadonlyArray<object>,
  options: { readonly key?: string; readonly actor?: string } = {}
): Promise<ReadonlyArray<Sent>> =>
  ledger.run(
    Effect.forEach(operations, (operation) => {
      const actor = options.actor ?? "agent:test"
      const caller = { workspaceId, tokenId: actor, actor, role: "member" as const }
      return Effect.forkDetach(performOperation(caller, operation, options.key), {
        startImmediately: true
      })
    })
  )

/** What each was answered: its receipt, or the code of its refusal. */
const answers = (sent: ReadonlyArray<Sent>): Promise<ReadonlyArray<OperationReceipt | string>> =>
  ledger.run(
    Effect.forEach(sent, (fiber) =>
      Fiber.join(fiber).pipe(Effect.catch((error) => Effect.succeed(error._tag)))
    )
  )

const receiptsOf = async (sent: ReadonlyArray<Sent>): Promise<ReadonlyArray<OperationReceipt>> =>
  (await answers(sent)).map((answer) => {
    if (typeof answer === "string") throw new Error(answer)
    return answer
  })

const held = <A>(use: Parameters<typeof whileHeld<A>>[1]) => whileHeld(ledger.database.url, use)
const entries = () => readEntries(ledger.database.url)

/** One operation is taken at once; what comes after it waits in the mailbox. */
const occupy = async (untilAwaited: () => Promise<boolean>) => {
  const sent = await send([{ op: "capture", body: "the first" }])
  await untilAwaited()
  return sent
}

describe("a mailbox", () => {
  it("is emptied in one transaction, however many wait", async () => {
    await newWorkspace()
    const sent = await held(async ({ release, untilAwaited }) => {
      const first = await occupy(untilAwaited)
      const captures = Array.from({ length: 400 }, (_, index) => ({
        op: "capture",
        body: `memory ${index}`
      }))
      const rest = await send(captures)
      await release()
      return [...first, ...rest]
    })
    const receipts = await receiptsOf(sent)
    const written = await entries()
    assertGapless(written)
    assert.strictEqual(new Set(written.map(({ transaction }) => transaction)).size, 2)
    assert.deepStrictEqual(
      written.map(({ op_id }) => op_id),
      receipts.map(({ op_id }) => op_id),
      "the ledger's order is the mailbox's"
    )
  })

  it("is decided in its order, and each record is written in its last state", async () => {
    await newWorkspace()
    const [created] = await receiptsOf(await send([{ op: "commit", title: "one of many hands" }]))
    const id = created?.record_id
    const close = { op: "close", id, result: "pass", evidence: [] }
    const table: ReadonlyArray<readonly [object, string]> = [
      [{ op: "claim", id, owner: "agent:one" }, "performed"],
      [{ op: "claim", id, owner: "agent:two" }, "VALIDATION_ERROR"],
      [{ op: "release", id }, "performed"],
      [{ op: "claim", id, owner: "agent:three" }, "performed"],
      [{ op: "submit", id }, "performed"],
      [close, "performed"],
      [{ op: "release", id }, "VALIDATION_ERROR"],
      [{ op: "reopen", id }, "performed"],
      [{ op: "claim", id, owner: "agent:four" }, "performed"]
    ]
    const sent = await held(async ({ release, untilAwaited }) => {
      await occupy(untilAwaited)
      const waiting = await send(table.map(([operation]) => operation))
      await release()
      return waiting
    })
    assert.deepStrictEqual(
      (await answers(sent)).map((answer) => (typeof answer === "string" ? answer : "performed")),
      table.map(([, outcome]) => outcome)
    )
    const written = (await entries()).filter(({ record_id }) => record_id === id).slice(1)
    assert.strictEqual(new Set(written.map(({ transaction }) => transaction)).size, 1)
    const times = written.map(({ time }) => time.getTime())
    assert.strictEqual(new Set(times).size, times.length, "no two operations share a time")
    assert.deepStrictEqual(
      times,
      times.toSorted((one, other) => one - other)
    )
    const stored = await withClient(ledger.database.url, (client) =>
      client.query("select state, owner, reopened, updated_at from commitments where id = $1", [id])
    )
    assert.deepStrictEqual(stored.rows, [
      { state: "claimed", owner: "agent:four", reopened: false, updated_at: written.at(-1)?.time }
    ])
  })

  it("gives a second holder of an Idempotency-Key in the same batch the first's answer", async () => {
    await newWorkspace()
    const key = "the same"
    const same = { op: "capture", body: "said twice" }
    const sent = await held(async ({ release, untilAwaited }) => {
      await occupy(untilAwaited)
      const waiting = [
        ...(await send([same, same, { op: "capture", body: "said otherwise" }], { key })),
        ...(await send([same], { key, actor: "agent:other" }))
      ]
      await release()
      return waiting
    })
    const [first, second, otherwise, ofAnother] = await answers(sent)
    assert.isObject(first)
    assert.deepStrictEqual(second, first)
    assert.strictEqual(otherwise, "VALIDATION_ERROR")
    assert.notDeepEqual(ofAnother, first, "keys belong to their token")
    assert.strictEqual((await entries()).length, 3)
  })

  it("keeps no key for an operation that was refused", async () => {
    await newWorkspace()
    const key = "tried too early"
    const claim = (id: string) => ({ op: "claim", id, owner: "agent:one" })
    const [created] = await receiptsOf(await send([{ op: "commit", title: "to be claimed" }]))
    const id = created?.record_id ?? ""
    await receiptsOf(await send([claim(id)]))
    assert.deepStrictEqual(await answers(await send([claim(id)], { key })), ["VALIDATION_ERROR"])
    await receiptsOf(await send([{ op: "release", id }]))
    const [later] = await answers(await send([claim(id)], { key }))
    assert.isObject(later)
  })

  it("drops the operation of a caller who left before it was taken, and no other", async () => {
    await newWorkspace()
    await held(async ({ release, untilAwaited }) => {
      const taken = await occupy(untilAwaited)
      const left = await send([{ op: "capture", body: "has left" }])
      const stayed = await send([{ op: "capture", body: "has stayed" }])
      await ledger.run(Fiber.interruptAll([...left, ...taken]))
      await release()
      await receiptsOf(stayed)
    })
    // The first was taken when its caller left: «nothing taken is cancelled».
    assert.deepStrictEqual(
      (await entries()).map(({ payload }) => JSON.parse(payload).body),
      ["the first", "has stayed"]
    )
  })

  it("takes 10,000 operations, refuses the next at once, and serves again when it is empty", async () => {
    await newWorkspace()
    const full = await held(async ({ release, untilAwaited }) => {
      const first = await occupy(untilAwaited)
      const captures = Array.from({ length: 9_999 }, (_, index) => ({
        op: "capture",
        body: `memory ${index}`
      }))
      const rest = await send(captures)
      const [beyond] = await send([{ op: "capture", body: "one too many" }])
      assert.isDefined(beyond)
      // The workspace is still held: the refusal waits for nobody.
      const exit = await ledger.run(Fiber.await(beyond))
      assert.isTrue(Exit.isFailure(exit))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.deepInclude(error, { _tag: "SERVER_ERROR", retryAfterSeconds: 1 })
      await release()
      return [...first, ...rest]
    })
    await receiptsOf(full)
    await receiptsOf(await send([{ op: "capture", body: "room again" }]))
    const written = await entries()
    assert.strictEqual(written.length, 10_001)
    assert.isAtMost(new Set(written.map(({ transaction }) => transaction)).size, 1 + 20 + 1)
  })
})

const LEFT = 'ledger_http_requests_total{method="POST",status="none"}'

describe("a mailbox, over HTTP", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ env: { LEDGER_MAX_BODY: "10MiB" } })
  })
  afterAll(() => service.stop())

  const heldService = <A>(use: Parameters<typeof whileHeld<A>>[1]) =>
    whileHeld(service.database.url, use)

  it("answers 500 with Retry-After at once when its bytes are used up, and loses nothing", async () => {
    // Six of these fill 60 of the 64 MiB; the seventh, whichever it is, does not fit.
    const body = "x".repeat(10 * 1024 * 1024 - 1_000)
    await heldService(async ({ release, untilAwaited }) => {
      const statuses: Array<number> = []
      const capture = async () => {
        for (;;) {
          const reply = await service.perform({ op: "capture", body })
          // How many bodies may be on their way at once is a bound of its own.
          if (!reply.body.error?.message.includes("request bodies")) return reply
        }
      }
      const requests = Array.from({ length: 7 }, async () => {
        const reply = await capture()
        statuses.push(reply.status)
        return reply
      })
      const refused = await Promise.race(requests)
      await untilAwaited()
      assert.deepStrictEqual(statuses, [500])
      assert.strictEqual(refused.body.error.code, "SERVER_ERROR")
      assert.match(refused.headers.get("Retry-After") ?? "", /^\d+$/)
      const small = service.perform({ op: "capture", body: "a small one still fits" })
      await release()
      assert.strictEqual((await small).status, 200)
      await Promise.all(requests)
      assert.deepStrictEqual(statuses.toSorted(), [200, 200, 200, 200, 200, 200, 500])
    })
    const status = await service.get("/status")
    assert.strictEqual(status.body.data.ledger.total_operations, 7)
  })

  it("drops the request of a caller who hung up", async () => {
    await heldService(async ({ release, untilAwaited }) => {
      const first = service.perform({ op: "capture", body: "holds the actor" })
      await untilAwaited()
      const hangUp = new AbortController()
      const left = service
        .request("/ops", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ op: "capture", body: "hung up" }),
          signal: hangUp.signal
        })
        .catch(() => "hung up")
      const stayed = service.perform({ op: "capture", body: "stayed" })
      // Each is a whole way to the service and back, so what was sent before has arrived.
      for (let trip = 0; trip < 5; trip++) await service.get("/status")
      const gone = await readMetric(service, LEFT)
      hangUp.abort()
      assert.strictEqual(await left, "hung up")
      await until("the service knows", async () => (await readMetric(service, LEFT)) === gone + 1)
      await release()
      assert.deepStrictEqual([(await first).status, (await stayed).status], [200, 200])
    })
    const { body } = await service.get("/memories?limit=2")
    assert.deepStrictEqual(
      body.data.map((memory: { body: string }) => memory.body),
      ["stayed", "holds the actor"]
    )
  })

  it("shows the sizes of its batches on the operations port", async () => {
    const measure = async () => {
      const value = (name: string) => readMetric(service, `ledger_batch_operations_${name}`)
      return { batches: await value("count"), operations: await value("sum") }
    }
    const before = await measure()
    await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        service.perform({ op: "commit", title: `commitment ${index}` })
      )
    )
    const after = await measure()
    assert.strictEqual(after.operations - before.operations, 300)
    assert.isBelow(after.batches - before.batches, 100)
  })

  it("of 100 claims at once, spread over two replicas, accepts one", async () => {
    const replica = await startService({ database: service.database })
    try {
      const id = await service.record({ op: "commit", title: "wanted by all" })
      const callers = [makeCaller(service.baseUrl), makeCaller(replica.baseUrl)]
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          callers[index % 2]?.perform({ op: "claim", id, owner: `agent:${index}` })
        )
      )
      const statuses = replies.map((reply) => reply?.status)
      assert.strictEqual(statuses.filter((status) => status === 200).length, 1)
      assert.strictEqual(statuses.filter((status) => status === 422).length, 99)
      const claims = (await readEntries(service.database.url)).filter(
        (entry) => entry.record_id === id && entry.op === "claim"
      )
      assert.strictEqual(claims.length, 1)
      const { owner } = JSON.parse(claims[0]?.payload ?? "")
      for (const caller of callers) {
        assert.strictEqual((await caller.get(`/commitments/${id}`)).body.data.owner, owner)
      }
    } finally {
      await replica.stop()
    }
  })

  it("of 100 requests with one Idempotency-Key, over two replicas, performs one", async () => {
    const replica = await startService({ database: service.database })
    try {
      const callers = [makeCaller(service.baseUrl), makeCaller(replica.baseUrl)]
      const before = (await readEntries(service.database.url)).length
      const replies = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          callers[index % 2]?.perform(
            { op: "capture", body: "once" },
            { "Idempotency-Key": "a hundred times" }
          )
        )
      )
      for (const reply of replies) assert.deepStrictEqual(reply?.body, replies[0]?.body)
      assert.strictEqual(replies[0]?.status, 200)
      assert.strictEqual((await readEntries(service.database.url)).length, before + 1)
    } finally {
      await replica.stop()
    }
  })
})
