// Deliveries when the service ends: killed at every point of an attempt, nothing is lost and a repeat
// is the same attempt; stopped in order, what cannot end is given back and sent by the next start.
import * as fs from "node:fs"
import * as path from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { afterEach, assert, beforeEach, it } from "vitest"
import { createDatabase, type TestDatabase } from "../support/postgres.ts"
import { type Program, startService } from "../support/program.ts"
import { type ReceivedRequest, startReceiver, type TestReceiver } from "../support/receiver.ts"
import { makeCaller } from "../support/service.ts"
import {
  assertCallback,
  claimOne,
  close,
  eventOf,
  readAttempts,
  readDeliveries,
  register,
  untilEnded
} from "../workers/deliveries.ts"
import { until } from "./database.ts"
import { makeFolder, SERVICE_SETTINGS } from "./embedded.ts"

const IN_FLIGHT = 4

let folder: string
let database: TestDatabase
let receiver: TestReceiver
const programs: Array<Program> = []
beforeEach(async () => {
  folder = makeFolder()
  database = await createDatabase()
  receiver = await startReceiver()
})
afterEach(async () => {
  await receiver.stop()
  for (const program of programs.splice(0)) await program[Symbol.asyncDispose]()
  await database.drop()
  fs.rmSync(folder, { recursive: true, force: true })
})

const start = async () => {
  const program = startService({
    ...SERVICE_SETTINGS,
    DATABASE_URL: database.url,
    LEDGER_DATA_DIR: path.join(folder, String(programs.length))
  })
  programs.push(program)
  return { program, caller: makeCaller(await program.baseUrl) }
}

const idsOf = (requests: ReadonlyArray<ReceivedRequest>) =>
  requests.map(({ headers }) => headers["webhook-id"]).toSorted()

/** The same event, in the same bytes, under the same number of the attempt. */
const assertRepeats = (
  repeats: ReadonlyArray<ReceivedRequest>,
  earlier: ReadonlyArray<ReceivedRequest>
) => {
  assert.deepStrictEqual(idsOf(repeats), idsOf(earlier))
  for (const repeat of repeats) {
    const first = earlier.find(
      ({ headers }) => headers["webhook-id"] === repeat.headers["webhook-id"]
    )
    assertCallback(repeat, { attempt: 1 })
    assert.deepEqual(repeat.body, first?.body)
  }
}

it("kill -9 before sending, while the receiver answers, and after its 200: all is sent again", async () => {
  const first = await start()
  await using closed = await startReceiver({
    answer: (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
      first.program.kill("SIGKILL")
    }
  })
  receiver.answer({ after: new Promise(() => {}) })
  await register(first.caller, receiver.url, { states: ["claimed"] })
  await register(first.caller, closed.url, { states: ["closed"] })
  const ids: Array<string> = []
  for (let index = 0; index <= IN_FLIGHT; index++) ids.push(await claimOne(first.caller))
  const inTheAir = await receiver.take(IN_FLIGHT)
  const closing = first.caller.perform(close(ids[0] ?? "")).catch(() => undefined)
  const answered = await closed.next()
  assert.strictEqual(await first.program.exited, "SIGKILL")
  await closing
  const killedAt = Date.now()

  const before = await readDeliveries(database.url)
  assert.lengthOf(before, IN_FLIGHT + 2)
  for (const row of before) {
    assert.deepInclude(row, { status: "pending", attempts: 0 })
    assert.isNotNull(row.claim_token)
  }

  receiver.answer(200)
  closed.answer(200)
  await start()
  const repeats = await receiver.take(IN_FLIGHT + 1)
  const again = await closed.next()
  assert.isBelow(Date.now() - killedAt, 30_000)
  const known = new Set(idsOf(inTheAir))
  const unsent = repeats.filter(({ headers }) => !known.has(headers["webhook-id"]))
  assert.lengthOf(unsent, 1, "the one that was not sent before")
  assertRepeats(
    repeats.filter((request) => !unsent.includes(request)),
    inTheAir
  )
  assertRepeats([again], [answered])
  const rows = await untilEnded(database.url)
  assert.deepStrictEqual(
    rows.map(({ attempts, status }) => ({ attempts, status })),
    rows.map(() => ({ attempts: 1, status: "delivered" }))
  )
  assert.lengthOf(receiver.received, IN_FLIGHT * 2 + 1)
  assert.lengthOf(closed.received, 2)
})

it("kill -9 between two attempts: the retry comes, with its number and at its time", async () => {
  const env = { LEDGER_WEBHOOK_RETRY_DELAYS: "4 seconds, 1 hour" }
  const startWith = async () => {
    const program = startService({
      ...SERVICE_SETTINGS,
      ...env,
      DATABASE_URL: database.url,
      LEDGER_DATA_DIR: path.join(folder, String(programs.length))
    })
    programs.push(program)
    return { program, caller: makeCaller(await program.baseUrl) }
  }
  const { caller, program } = await startWith()
  receiver.answerNext(500)
  await register(caller, receiver.url)
  await claimOne(caller)
  const failed = await receiver.next()
  await until("the attempt is logged", async () => (await readAttempts(database.url)).length > 0)
  program.kill("SIGKILL")
  await program.exited
  await startWith()
  const retry = await receiver.next()
  assertCallback(retry, { attempt: 2 })
  assert.deepEqual(retry.body, failed.body)
  assert.isAtLeast(retry.receivedAt - failed.receivedAt, 4_000)
  assert.isBelow(retry.receivedAt - failed.receivedAt, 9_000)
  await untilEnded(database.url)
})

it("SIGTERM gives running deliveries their time, and gives the rest back to the next start", async () => {
  const { caller, program } = await start()
  const answer = Promise.withResolvers<void>()
  receiver.answer({ after: new Promise(() => {}) })
  receiver.answerNext({ after: answer.promise })
  await register(caller, receiver.url)
  for (let index = 0; index <= IN_FLIGHT; index++) await claimOne(caller)
  const [answered, ...hanging] = await receiver.take(IN_FLIGHT)
  assert.isDefined(answered)
  program.kill("SIGTERM")
  // Nothing tells from outside that stopping has come to the deliveries: the doors close before.
  await pause(1_000)
  answer.resolve()
  assert.strictEqual(await program.exited, 0, program.output())
  const rows = await readDeliveries(database.url)
  assert.deepStrictEqual(
    rows.map(({ attempts, claim_token, claimed_by, claimed_until, event_id, status }) =>
      event_id === answered.headers["webhook-id"]
        ? [status, attempts]
        : [status, attempts, claimed_by, claim_token, claimed_until]
    ),
    rows.map(({ event_id }) =>
      event_id === answered.headers["webhook-id"]
        ? ["delivered", 1]
        : ["pending", 0, null, null, null]
    )
  )
  assert.lengthOf(receiver.received, IN_FLIGHT, "nothing new is started while stopping")

  receiver.answer(200)
  await start()
  const listening = Date.now()
  const repeats = await receiver.take(IN_FLIGHT)
  assert.isBelow(Date.now() - listening, 3_000)
  for (const repeat of repeats) assertCallback(repeat, { attempt: 1 })
  const ids = new Set(idsOf(hanging))
  assertRepeats(
    repeats.filter(({ headers }) => ids.has(headers["webhook-id"])),
    hanging
  )
  assert.deepStrictEqual(
    new Set(receiver.received.map((request) => eventOf(request).commitment.id)).size,
    IN_FLIGHT + 1
  )
  await untilEnded(database.url)
})
