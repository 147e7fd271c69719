// Three replicas of the real program on one database, of which one is killed in the middle of its
// deliveries. Used in a short form by `npm test` and in a long one by `npm run prove`.
import * as fs from "node:fs"
import * as path from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { assert } from "vitest"
import { IN_FLIGHT_PER_ENDPOINT, UNLOGGED_PER_ENDPOINT } from "../../src/workers/endpointQueue.ts"
import { createDatabase } from "../support/postgres.ts"
import { startService } from "../support/program.ts"
import { type ReceivedRequest, startReceiver, type TestReceiver } from "../support/receiver.ts"
import { makeCaller } from "../support/service.ts"
import {
  close,
  type DeliveryRow,
  eventOf,
  readDeliveries,
  register,
  untilEnded
} from "../workers/deliveries.ts"
import { until } from "./database.ts"
import { makeFolder, SERVICE_SETTINGS } from "./embedded.ts"

export interface Storm {
  /** Each is claimed and closed: two events. */
  readonly commitments: number
  /** Each is told about every event. */
  readonly endpoints: number
  /** How many of the first requests fail. */
  readonly failures: number
  /** How many requests have come when one replica is killed. */
  readonly killedAfter: number
}

const DELAYS = [400, 800, 1_600]
const WRITERS = 24

export const surviveLossOfReplica = async (storm: Storm): Promise<void> => {
  const folder = makeFolder()
  const database = await createDatabase()
  const receiver = await startReceiver({ answer: slowly(200) })
  const programs = [0, 1, 2].map((number) =>
    startService({
      ...SERVICE_SETTINGS,
      DATABASE_URL: database.url,
      LEDGER_DATA_DIR: path.join(folder, String(number)),
      LEDGER_WEBHOOK_RETRY_DELAYS: DELAYS.map((delay) => `${delay} millis`).join(", ")
    })
  )
  try {
    const callers = await Promise.all(programs.map(async (one) => makeCaller(await one.baseUrl)))
    const [first, second] = callers
    const [victim] = programs
    if (first === undefined || second === undefined || victim === undefined) return
    for (let endpoint = 0; endpoint < storm.endpoints; endpoint++) {
      await register(endpoint % 2 === 0 ? first : second, `${receiver.url}/${endpoint}`)
    }
    receiver.answerNext(...Array.from({ length: storm.failures }, () => slowly(500)))

    const accepted = write(callers, storm.commitments)
    await receiver.take(storm.killedAfter)
    // Every request hangs for a moment. More of them than two replicas may have in the air at once:
    // the killed one has some too.
    const killed = Promise.withResolvers<void>()
    receiver.answer({ after: killed.promise })
    const before = receiver.received.length
    await until(
      "every replica has requests in the air",
      async () => receiver.received.length - before > 2 * IN_FLIGHT_PER_ENDPOINT * storm.endpoints
    )
    victim.kill("SIGKILL")
    await victim.exited
    const killedAt = Date.now()
    receiver.answer(slowly(200))
    killed.resolve()
    const unended = await readDeliveries(database.url)
    const moves = await accepted
    const rows = await untilEnded(database.url, 120_000)

    assertAllDelivered(rows, moves, storm.endpoints)
    assertDuplicates(receiver, unended, killedAt, storm)
    assertNeverEarly(receiver)
    assertInOrder(receiver)
    // What the killed one held is there within 30 seconds; newer moves may take as long as they do.
    const held = new Set(pendingOf(unended))
    const late = lastOfEach(receiver).filter(([, { headers }]) =>
      held.has(String(headers["webhook-id"]))
    )
    const recovered = Math.max(killedAt, ...late.map(([, request]) => request.receivedAt))
    assert.isBelow(recovered - killedAt, 30_000)
    await Promise.all(programs.slice(1).map((one) => one.stop()))
  } finally {
    for (const program of programs) await program[Symbol.asyncDispose]()
    await receiver.stop()
    await database.drop()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** Long enough that a replica always has requests in the air. */
const slowly = (status: number) => ({
  status,
  get after() {
    return pause(40)
  }
})

type Caller = ReturnType<typeof makeCaller>

/** Claims and closes commitments through all replicas; answers the moves that were accepted. */
const write = async (callers: ReadonlyArray<Caller>, commitments: number) => {
  const moves: Array<string> = []
  let next = 0
  const perform = async (operation: object) => {
    const caller = callers[next % callers.length]
    // Nobody knows what the killed one did of it; another one is asked, and may refuse.
    const reply = await caller?.perform(operation).catch(() => callers.at(-1)?.perform(operation))
    return reply?.status === 200 ? (reply.body.record_id as string) : undefined
  }
  const work = async () => {
    while (next < commitments) {
      next += 1
      const id = await perform({ op: "commit", title: `number ${next}` })
      if (id === undefined) continue
      if ((await perform({ op: "claim", id, owner: "agent:one" })) !== undefined) {
        moves.push(`${id} claimed`)
      }
      if ((await perform(close(id))) !== undefined) moves.push(`${id} closed`)
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, work))
  return moves
}

const keyOf = ({ headers, target }: ReceivedRequest) => `${headers["webhook-id"]} ${target}`

const byKey = ({ received }: TestReceiver) => Map.groupBy(received, keyOf)

const lastOfEach = (receiver: TestReceiver) =>
  Array.from(byKey(receiver), ([key, requests]) => [key, requests.at(-1)] as const).filter(
    (pair): pair is readonly [string, ReceivedRequest] => pair[1] !== undefined
  )

/** Keys by event only: the outbox knows endpoints by id and the receiver by path. */
const pendingOf = (rows: ReadonlyArray<DeliveryRow>) =>
  rows.filter(({ status }) => status === "pending").map((row) => row.event_id)

const assertAllDelivered = (
  rows: ReadonlyArray<DeliveryRow>,
  moves: ReadonlyArray<string>,
  endpoints: number
) => {
  const delivered = Map.groupBy(
    rows.filter(({ status }) => status === "delivered"),
    ({ payload }) => {
      const { commitment } = JSON.parse(payload)
      return `${commitment.id} ${commitment.currentState}`
    }
  )
  assert.isAbove(moves.length, 0)
  for (const move of moves) assert.lengthOf(delivered.get(move) ?? [], endpoints, move)
  assert.strictEqual(rows.filter(({ status }) => status !== "delivered").length, 0)
}

/** An attempt comes twice only if it was in the air, or not logged yet, when the replica was killed. */
const assertDuplicates = (
  receiver: TestReceiver,
  unended: ReadonlyArray<DeliveryRow>,
  killedAt: number,
  storm: Storm
) => {
  const pending = new Set(pendingOf(unended))
  const attempts = Map.groupBy(
    receiver.received,
    (request) => `${keyOf(request)} ${request.headers["ledger-attempt"]}`
  )
  const repeated = Array.from(attempts.values()).filter((requests) => requests.length > 1)
  for (const requests of repeated) {
    const [original, repeat] = requests
    assert.lengthOf(requests, 2)
    assert.isDefined(original)
    assert.isDefined(repeat)
    assert.isAtMost(original.receivedAt, killedAt)
    assert.isTrue(pending.has(String(original.headers["webhook-id"])))
    assert.deepEqual(repeat.body, original.body)
    // Not before the lease of the killed one has ended.
    assert.isAbove(repeat.receivedAt - killedAt, 5_000)
  }
  assert.isAbove(repeated.length, 0, "the killed one had something in the air")
  const mostPerEndpoint = IN_FLIGHT_PER_ENDPOINT + UNLOGGED_PER_ENDPOINT
  assert.isAtMost(repeated.length, mostPerEndpoint * storm.endpoints)
}

const assertNeverEarly = (receiver: TestReceiver) => {
  for (const [key, requests] of byKey(receiver)) {
    for (const [index, request] of requests.entries()) {
      const before = requests[index - 1]
      const attempt = Number(request.headers["ledger-attempt"])
      if (before === undefined || Number(before.headers["ledger-attempt"]) === attempt) continue
      const delay = DELAYS[attempt - 2] ?? 0
      assert.isAtLeast(request.receivedAt - before.receivedAt, delay, `${key} ${attempt}`)
    }
  }
}

/** Claim before close, for each commitment and endpoint, where both were sent once. */
const assertInOrder = (receiver: TestReceiver): void => {
  for (const requests of Map.groupBy(
    receiver.received,
    (request) => `${eventOf(request).commitment.id} ${request.target}`
  ).values()) {
    const states = requests.map((request) => eventOf(request).commitment.currentState)
    if (!states.includes("closed")) continue
    assert.isBelow(states.indexOf("claimed"), states.indexOf("closed"))
  }
}
