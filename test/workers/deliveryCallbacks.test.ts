// The spec's Events section from outside, with a real receiver: the three moves and no other, the
// payload field by field, the headers, and who is told.
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { tableRows } from "../rest/expectations.ts"
import { type CommitmentSituation, commitmentIn, memoryIn } from "../rest/records.ts"
import { startReceiver, type TestReceiver } from "../support/receiver.ts"
import { startService, type TestService, WORKSPACE_ID } from "../support/service.ts"
import {
  assertCallback,
  claimOne,
  close,
  eventOf,
  listen,
  readDeliveries,
  register,
  serviceSignature,
  untilEnded
} from "./deliveries.ts"

let service: TestService
let receiver: TestReceiver
beforeAll(async () => {
  service = await startService({ env: { LEDGER_BOOTSTRAP_NAME: "Grüße & Co" } })
  receiver = await startReceiver()
  await register(service, receiver.url)
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

/** The payloads that were promised for one commitment, in order: written in the move's transaction. */
const promised = async (commitmentId: string) =>
  (await readDeliveries(service.database.url))
    .filter((delivery) => delivery.commitment_id === commitmentId)
    .map(({ payload }) => JSON.parse(payload))

/** The callback of the last move of one commitment, as it was received. */
const received = async (commitmentId: string) => {
  await untilEnded(service.database.url)
  const request = receiver.received.findLast((one) => eventOf(one).commitment.id === commitmentId)
  if (request === undefined) throw new Error(`no callback about ${commitmentId}`)
  return request
}

const view = async (id: string) => (await service.get(`/commitments/${id}`)).body.data

const FIELDS: Readonly<Record<string, object>> = {
  claim: { owner: "agent:two" },
  close: { result: "fail", evidence: [] },
  annotate: { body: "noted" },
  submit: { evidence: [{ type: "build" }] },
  commit: { title: "another" },
  capture: { body: "seen" }
}

/** Which operation sends a callback in which situation; whether it is accepted is another matter. */
const CALLBACKS = `
           | open           | claimed        | in_review | closed by close | closed by approve | closed by both | open after reopen
  claim    | open>claimed   | -              | -         | -               | -                 | -              | open>claimed
  close    | open>closed    | claimed>closed | -         | -               | -                 | -              | open>closed
  release  | -              | -              | -         | -               | -                 | -              | -
  submit   | -              | -              | -         | -               | -                 | -              | -
  approve  | -              | -              | -         | -               | -                 | -              | -
  reopen   | -              | -              | -         | -               | -                 | -              | -
  annotate | -              | -              | -         | -               | -                 | -              | -
  link     | -              | -              | -         | -               | -                 | -              | -
  commit   | -              | -              | -         | -               | -                 | -              | -
  capture  | -              | -              | -         | -               | -                 | -              | -
`

const CELLS = (() => {
  const [[, ...situations] = [], ...rows] = tableRows(CALLBACKS)
  return rows.flatMap(([op = "", ...cells]) =>
    cells.map((move, index) => ({ op, move, before: situations[index] ?? "" }))
  )
})()

describe("callbacks are sent only for the three moves", () => {
  it.each(CELLS)("$before | $op | $move", async ({ before, move, op }) => {
    const id = await commitmentIn(service, before as CommitmentSituation)
    const earlier = (await promised(id)).length
    const subject = op === "link" ? { id: await memoryIn(service), target: id } : { id }
    await service.perform({ op, ...subject, ...FIELDS[op] })
    const moves = (await promised(id))
      .slice(earlier)
      .map(({ commitment }) => `${commitment.previousState}>${commitment.currentState}`)
    assert.deepStrictEqual(moves, move === "-" ? [] : [move])
  })

  it.each(["untriaged", "triaged", "linked", "committed", "dismissed"] as const)(
    "no change of a memory sends one: %s",
    async (status) => {
      const before = (await readDeliveries(service.database.url)).length
      const id = await memoryIn(service, status)
      for (const operation of [
        { op: "annotate", id, body: "noted" },
        { op: "triage", id, priority: "high" },
        { op: "link", id, target: await service.record({ op: "commit", title: "linked" }) },
        { op: "dismiss", id }
      ]) {
        assert.strictEqual((await service.perform(operation)).status, 200)
      }
      assert.strictEqual((await readDeliveries(service.database.url)).length, before)
    }
  )

  it("what was promised is what was received, each once", async () => {
    const rows = await untilEnded(service.database.url)
    assert.deepStrictEqual(
      receiver.received.map(({ headers }) => headers["webhook-id"]).toSorted(),
      rows.map((row) => row.event_id).toSorted()
    )
    const payloads = new Map(rows.map((row) => [row.event_id, row.payload]))
    for (const request of receiver.received) {
      assertCallback(request)
      assert.strictEqual(request.text, payloads.get(String(request.headers["webhook-id"])))
    }
  })
})

describe("the payload", () => {
  it("of a claim, field by field", async () => {
    const id = await claimOne(service, "Ein Anspruch: «Grüße», 🚀")
    const request = await received(id)
    const { created_at, history } = await view(id)
    assert.deepStrictEqual(eventOf(request), {
      event: "commitment.state_changed",
      timestamp: history[1].timestamp,
      workspace: { id: WORKSPACE_ID, name: "Grüße & Co" },
      commitment: {
        id,
        memoryId: "",
        title: "Ein Anspruch: «Grüße», 🚀",
        previousState: "open",
        currentState: "claimed",
        result: null,
        tier: null,
        evidence: [],
        createdAt: created_at,
        closedAt: null
      }
    })
    assert.include(request.text, "🚀")
    assert.strictEqual(request.headers["x-service-signature"], serviceSignature(request.body))
    assert.strictEqual(request.headers["content-length"], String(request.body.length))
  })

  it.each(["pass", "fail"])("of a close with %s", async (result) => {
    const id = await claimOne(service)
    await service.record({ ...close(id), result })
    const { commitment, timestamp } = eventOf(await received(id))
    const { history } = await view(id)
    assert.deepInclude(commitment, {
      previousState: "claimed",
      currentState: "closed",
      result,
      closedAt: history[2].timestamp
    })
    assert.strictEqual(timestamp, history[2].timestamp)
  })

  it("has no result and no closing time when it is claimed again after a reopen", async () => {
    const id = await claimOne(service)
    await service.record(close(id))
    await service.record({ op: "reopen", id })
    await service.record({ op: "claim", id, owner: "agent:two" })
    const { commitment } = eventOf(await received(id))
    assert.deepInclude(commitment, { previousState: "open", result: null, closedAt: null })
  })

  const capture = { op: "capture", body: "seen" }
  it("names the source memory", async () => {
    const source = await service.record(capture)
    const id = await service.record({ op: "commit", title: "from it", source })
    await service.record({ op: "link", id: await service.record(capture), target: id })
    await service.record({ op: "claim", id, owner: "agent:one" })
    const { commitment } = eventOf(await received(id))
    assert.deepInclude(commitment, { memoryId: source, title: "from it" })
  })

  it("names the first linked memory where there is no source", async () => {
    const id = await service.record({ op: "commit", title: "linked" })
    const first = await service.record(capture)
    await service.record({ op: "link", id: first, target: id })
    await service.record({ op: "link", id: await service.record(capture), target: id })
    await service.record({ op: "claim", id, owner: "agent:one" })
    assert.strictEqual(eventOf(await received(id)).commitment.memoryId, first)
  })

  it("names the memory that was linked between claim and close", async () => {
    const id = await claimOne(service)
    assert.strictEqual(eventOf(await received(id)).commitment.memoryId, "")
    const linked = await service.record(capture)
    await service.record({ op: "link", id: linked, target: id })
    await service.record(close(id))
    assert.strictEqual(eventOf(await received(id)).commitment.memoryId, linked)
  })

  it.each([
    ["T1", "T1"],
    ["T2", "T2"],
    ["T3", "T3"],
    ["T4", null],
    ["t1", null],
    [1, null],
    [["T1"], null],
    [null, null]
  ])("has the tier of meta: %j gives %j", async (tier, expected) => {
    const id = await service.record({ op: "commit", title: "with a tier", meta: { tier } })
    await service.record({ op: "claim", id, owner: "agent:one" })
    assert.strictEqual(eventOf(await received(id)).commitment.tier, expected)
  })

  it("has the tier that the operation itself brings", async () => {
    const id = await service.record({ op: "commit", title: "estimated", meta: { tier: "T1" } })
    await service.record({ op: "claim", id, owner: "agent:one", meta: { tier: "T3" } })
    assert.strictEqual(eventOf(await received(id)).commitment.tier, "T3")
  })
})

describe("evidence in the payload", () => {
  it("is all of it at the time of the event, with the time that brought it", async () => {
    const id = await claimOne(service)
    await service.record({
      op: "submit",
      id,
      evidence: [
        { type: "build", label: "CI", payload: { command: "make", exitCode: 0, n: 1.5 } },
        { type: "pr", url: "https://example.org/7", body: "please" }
      ]
    })
    await service.record({
      op: "close",
      id,
      result: "fail",
      evidence: [{ type: "log", body: "x" }]
    })
    await service.record({ op: "reopen", id })
    await service.record({ op: "claim", id, owner: "agent:two" })
    const { history } = await view(id)
    const submitted = history[2].timestamp
    const expected = [
      {
        type: "build",
        label: "CI",
        payload: { command: "make", exitCode: 0, n: 1.5 },
        capturedAt: submitted
      },
      {
        type: "pr",
        payload: { url: "https://example.org/7", body: "please" },
        capturedAt: submitted
      },
      { type: "log", payload: { body: "x" }, capturedAt: history[3].timestamp }
    ]
    assert.deepStrictEqual(eventOf(await received(id)).commitment.evidence, expected)

    await service.record({ op: "close", id, result: "pass", evidence: [{ type: "test" }] })
    const { history: later } = await view(id)
    const added = { type: "test", payload: {}, capturedAt: later.at(-1).timestamp }
    assert.deepStrictEqual(eventOf(await received(id)).commitment.evidence, [...expected, added])
  })
})

describe("who is told", () => {
  /** Claims and closes one commitment; answers by receiver the states that were told about it. */
  const tell = async (receivers: ReadonlyArray<TestReceiver>) => {
    const id = await claimOne(service)
    await service.record(close(id))
    await untilEnded(service.database.url)
    return receivers.map((one) =>
      one.received
        .map(eventOf)
        .filter(({ commitment }) => commitment.id === id)
        .map(({ commitment }) => commitment.currentState)
    )
  }

  it("every endpoint, by its filters", async () => {
    await using everything = await listen(service)
    await using byEvent = await listen(service, { events: ["commitment.state_changed"] })
    await using claimed = await listen(service, { states: ["claimed"] })
    await using closed = await listen(service, { states: ["closed"] })
    const told = await tell([everything, byEvent, claimed, closed])
    assert.deepStrictEqual(told, [
      ["claimed", "closed"],
      ["claimed", "closed"],
      ["claimed"],
      ["closed"]
    ])
  })

  it("the same URL again is the same endpoint, with its new secret and filter", async () => {
    await using told = await listen(service, { states: ["claimed"] })
    assert.deepStrictEqual(await tell([told]), [["claimed"]])
    const again = { secret: "another secret", states: ["closed"] }
    assert.strictEqual(await register(service, told.url, again), told.id)
    assert.deepStrictEqual(await tell([told]), [["closed"]])
    const last = told.received.at(-1)
    assert.isDefined(last)
    assertCallback(last, { secret: "another secret" })
    assert.notProperty(last.headers, "x-service-signature-previous")
  })

  it("an endpoint is told nothing of what was before it", async () => {
    const id = await claimOne(service)
    await using late = await listen(service)
    await service.record(close(id))
    assert.strictEqual(eventOf(await late.next()).commitment.currentState, "closed")
    await untilEnded(service.database.url)
    assert.lengthOf(late.received, 1)
  })

  it("a refused operation tells nobody", async () => {
    const id = await claimOne(service)
    const before = (await readDeliveries(service.database.url)).length
    const reply = await service.perform({ op: "claim", id, owner: "agent:two" })
    assert.strictEqual(reply.status, 422)
    assert.strictEqual((await readDeliveries(service.database.url)).length, before)
  })

  it("an operation that is sent again under its Idempotency-Key tells once", async () => {
    const id = await service.record({ op: "commit", title: "once" })
    const claim = { op: "claim", id, owner: "agent:one" }
    const key = { "Idempotency-Key": "claimed once" }
    for (let time = 0; time < 3; time++) {
      assert.strictEqual((await service.perform(claim, key)).status, 200)
    }
    assert.lengthOf(await promised(id), 1)
  })
})

describe("retries, with shortened delays", () => {
  const DELAYS = [60, 90, 120, 150, 180]
  let shortened: TestService
  beforeAll(async () => {
    const delays = DELAYS.map((delay) => `${delay} millis`).join(", ")
    shortened = await startService({ env: { LEDGER_WEBHOOK_RETRY_DELAYS: delays } })
  })
  afterAll(() => shortened.stop())

  it("send the same bytes under the same id, each after its delay, and end after five", async () => {
    await using failing = await listen(shortened, {}, { answer: { status: 503, body: "no" } })
    const id = await claimOne(shortened, "tried six times")
    const [first, ...retries] = await failing.take(6)
    assert.isDefined(first)
    // What changes meanwhile changes nothing of what is sent: this is linked after the first attempt.
    await shortened.record({
      op: "link",
      id: await shortened.record({ op: "capture", body: "late" }),
      target: id
    })
    let previous = first
    for (const [index, request] of retries.entries()) {
      assertCallback(request, { attempt: index + 2 })
      assert.deepEqual(request.body, first.body)
      assert.strictEqual(request.headers["webhook-id"], first.headers["webhook-id"])
      assert.isAtLeast(request.receivedAt - previous.receivedAt, (DELAYS[index] ?? 0) - 1)
      previous = request
    }
    const [delivery] = await untilEnded(shortened.database.url)
    assert.deepInclude(delivery, { status: "failed", attempts: 6, claim_token: null })
    await pause(1_200)
    assert.lengthOf(failing.received, 6)
  })

  it("end with the first 2xx answer", async () => {
    await using failing = await listen(shortened, {}, { answer: 204 })
    failing.answerNext(500, (socket) => socket.destroy(), 302)
    await claimOne(shortened)
    await failing.take(4)
    const rows = await untilEnded(shortened.database.url)
    assert.deepInclude(rows.at(-1), { status: "delivered", attempts: 4 })
  })
})
