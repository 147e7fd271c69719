// The rules of a batch when something goes wrong below it: a statement that cannot be carried out, a
// connection lost at COMMIT, connections ended by an administrator, a replica that stands still.
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import {
  installFaults,
  marksOf,
  readEntries,
  terminateConnections,
  until,
  whileHeld
} from "../faults/database.ts"
import { assertGapless, assertTruthful, startLoad } from "../faults/load.ts"
import { assertNothingInternal, assertRefused } from "../rest/expectations.ts"
import { createDatabase, type TestDatabase, withClient } from "../support/postgres.ts"
import { type Loss, type PostgresProxy, startPostgresProxy } from "../support/postgresProxy.ts"
import { type Program, startService as startProgram } from "../support/program.ts"
import {
  makeCaller,
  startService,
  type TestService,
  TOKEN,
  WORKSPACE_ID
} from "../support/service.ts"

/** Performs all of them while the workspace is held, so that they wait together. */
const performTogether = (service: TestService, operations: ReadonlyArray<object>) =>
  whileHeld(service.database.url, async ({ release, untilAwaited }) => {
    const first = service.perform({ op: "capture", body: "the first" })
    await untilAwaited()
    const replies = operations.map((operation) => service.perform(operation))
    // Each is a whole way to the service and back, so what was sent before has arrived.
    for (let trip = 0; trip < 5; trip++) await service.get("/status")
    await release()
    await first
    return Promise.all(replies)
  })

const captures = (count: number, name: string) =>
  Array.from({ length: count }, (_, index) => ({ op: "capture", body: `${name} ${index}` }))

describe("an operation that the database refuses", () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
    await installFaults(service.database.url)
  })
  afterAll(() => service.stop())

  const cases = [
    ["poison", "SERVER_ERROR"],
    ["unstorable", "INVALID_REQUEST"],
    ["oversized", "INVALID_REQUEST"]
  ] as const
  it.each(cases)("hurts its own caller only: %s, %s", async (word, code) => {
    const before = await service.get("/status")
    const operations: Array<object> = captures(19, `beside ${word}, number`)
    operations.splice(7, 0, { op: "capture", body: "here it is", meta: { [word]: true } })
    // «beside poison» must not be poisoned itself.
    const named = operations.map((operation) =>
      "meta" in operation ? operation : JSON.parse(JSON.stringify(operation).replace(word, "it"))
    )
    const replies = await performTogether(service, named)
    const guilty = replies.splice(7, 1)[0]
    assert.isDefined(guilty)
    assertRefused(guilty, code)
    if (code === "SERVER_ERROR") assert.match(guilty.headers.get("Retry-After") ?? "", /^\d+$/)
    for (const [name, value] of guilty.headers) assertNothingInternal(`${name} = ${value}`)
    assert.deepStrictEqual(
      replies.map(({ status }) => status),
      replies.map(() => 200)
    )
    const after = await service.get("/status")
    // The nineteen, and the one that occupied the actor.
    assert.deepStrictEqual(
      [after.body.data.memories.total, after.body.data.ledger.total_operations],
      [before.body.data.memories.total + 20, before.body.data.ledger.total_operations + 20]
    )
    const entries = await readEntries(service.database.url)
    assertGapless(entries)
    assert.notInclude(entries.map(({ payload }) => payload).join(), word)
  })

  it("leaves operations on one record in their order", async () => {
    const id = await service.record({ op: "commit", title: "between two claims" })
    const replies = await performTogether(service, [
      { op: "claim", id, owner: "agent:one" },
      { op: "annotate", id, body: "poison" },
      { op: "release", id },
      { op: "claim", id, owner: "agent:two" }
    ])
    const states = replies.map(({ status }) => status)
    const { body } = await service.get(`/commitments/${id}`)
    // HTTP promises no order between connections; whichever it was, the view is what was accepted.
    assert.strictEqual(states[1], 500)
    assert.strictEqual(body.data.history.length, 1 + states.filter((one) => one === 200).length)
    assert.deepStrictEqual(
      body.data.history
        .map(({ op_id }: { op_id: string }) => op_id)
        .slice(1)
        .toSorted(),
      replies
        .filter(({ status }) => status === 200)
        .map((reply) => reply.body.op_id)
        .toSorted()
    )
  })
})

describe("a connection that is lost at COMMIT", () => {
  let database: TestDatabase
  let proxy: PostgresProxy
  let service: TestService
  beforeAll(async () => {
    database = await createDatabase()
    proxy = await startPostgresProxy(database.url)
    service = await startService({
      database,
      env: { DATABASE_URL: proxy.url, LEDGER_PREPARED_STATEMENTS: "false" }
    })
  })
  afterAll(async () => {
    await service.stop()
    await proxy[Symbol.asyncDispose]()
    await database.drop()
  })

  const entriesByMark = async () => {
    const entries = await readEntries(database.url)
    assertGapless(entries)
    const marks = marksOf(entries)
    return Map.groupBy(entries, (_, index) => marks[index])
  }
  const entriesOf = async (mark: string) => (await entriesByMark()).get(mark) ?? []

  // Unnoticed, the server keeps the lock until its idle-in-transaction timeout of 5 seconds.
  const losses: ReadonlyArray<Loss> = ["after commit", "before commit", "unnoticed"]
  it.each(losses)("%s: the operation is performed once, and answered 200", async (loss) => {
    const before = proxy.losses()
    proxy.arm(loss)
    const reply = await service.perform({ op: "capture", body: loss })
    assert.strictEqual(proxy.losses(), before + 1)
    assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
    const found = await entriesOf(loss)
    assert.deepStrictEqual(
      found.map(({ op_id, record_id }) => ({ op_id, record_id })),
      [{ op_id: reply.body.op_id, record_id: reply.body.record_id }]
    )
    assert.strictEqual((await service.get(`/memories/${reply.body.record_id}`)).status, 200)
  })

  it("and the database is away for a while: no answer before it is back, and then the true one", async () => {
    const before = proxy.losses()
    proxy.arm("for good")
    let isAnswered = false
    const answer = service.perform({ op: "capture", body: "away" }).finally(() => {
      isAnswered = true
    })
    await until("the connection is lost", async () => proxy.losses() > before)
    assertRefused(await service.get("/status"), "SERVER_ERROR")
    assert.isFalse(isAnswered)
    proxy.comeBack()
    const reply = await answer
    assert.strictEqual(reply.status, 200)
    assert.deepStrictEqual(
      (await entriesOf("away")).map(({ op_id }) => op_id),
      [reply.body.op_id]
    )
  })

  it("again and again before commit: 500, and it is not there", async () => {
    proxy.arm("before commit", Number.POSITIVE_INFINITY)
    const reply = await service.perform({ op: "capture", body: "never" })
    proxy.arm("before commit", 0)
    assertRefused(reply, "SERVER_ERROR")
    assert.match(reply.headers.get("Retry-After") ?? "", /^\d+$/)
    assert.deepStrictEqual(await entriesOf("never"), [])
    assert.strictEqual((await service.perform({ op: "capture", body: "ever" })).status, 200)
  })

  it.each(["after commit", "before commit"] as const)(
    "%s, with an Idempotency-Key: one entry, and the same answer to a repetition",
    async (loss) => {
      const mark = `${loss}, with a key`
      const headers = { "Idempotency-Key": mark }
      proxy.arm(loss)
      const reply = await service.perform({ op: "capture", body: mark }, headers)
      const again = await service.perform({ op: "capture", body: mark }, headers)
      assert.strictEqual(reply.status, 200)
      assert.deepStrictEqual(again.body, reply.body)
      assert.strictEqual((await entriesOf(mark)).length, 1)
    }
  )

  it.each(["after commit", "before commit"] as const)(
    "%s, with a hundred callers at once: each performed once, and told so",
    async (loss) => {
      const before = proxy.losses()
      proxy.arm(loss, 3)
      const operations = captures(100, `one of many, ${loss}`)
      const replies = await Promise.all(operations.map((operation) => service.perform(operation)))
      assert.isAbove(proxy.losses(), before)
      proxy.arm(loss, 0)
      const entries = await entriesByMark()
      for (const [index, operation] of operations.entries()) {
        const found = entries.get(operation.body) ?? []
        const reply = replies[index]
        if (reply?.status === 200) assert.deepStrictEqual(found[0]?.op_id, reply.body.op_id)
        else assert.strictEqual(reply?.status, 500)
        assert.strictEqual(found.length, reply?.status === 200 ? 1 : 0, operation.body)
      }
    }
  )
})

describe("connections that are ended under load", () => {
  it("leaves every answer true, and the service serving", async () => {
    await using service = await startService()
    const load = startLoad(service, 16)
    for (let round = 1; round <= 5; round++) {
      await load.untilPerformed(round * 200)
      assert.isAbove(await terminateConnections(service.database.url), 0)
    }
    await load.untilPerformed(1_200)
    await load.stop()
    assertTruthful(load, await readEntries(service.database.url))
    assert.strictEqual((await service.perform({ op: "capture", body: "after all" })).status, 200)
  })
})

describe("a replica that stands still within its transaction", () => {
  let folder: string
  let database: TestDatabase
  let paused: Program
  beforeAll(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-paused-"))
  })
  beforeEach(async () => {
    database = await createDatabase()
    await installFaults(database.url)
    paused = startProgram({
      DATABASE_URL: database.url,
      LEDGER_DATA_DIR: path.join(folder, database.name),
      LEDGER_TLS: "off",
      LEDGER_BOOTSTRAP_WORKSPACE: WORKSPACE_ID,
      LEDGER_BOOTSTRAP_TOKEN: TOKEN
    })
  })
  afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

  it("holds nobody up for long, and tells the truth when it goes on", async () => {
    await using replica = await startService({ database })
    const stopped = makeCaller(await paused.baseUrl)
    try {
      const slow = stopped.perform({ op: "capture", body: "slow" })
      await withClient(database.url, (client) =>
        until("the transaction is open", async () => {
          const { rowCount } = await client.query(
            `select 1 from pg_stat_activity
             where datname = current_database() and wait_event = 'PgSleep'`
          )
          return rowCount === 1
        })
      )
      paused.kill("SIGSTOP")
      const since = performance.now()
      const reply = await replica.perform({ op: "capture", body: "meanwhile" })
      assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
      assert.isBelow(performance.now() - since, 11_000)
      paused.kill("SIGCONT")
      const late = await slow
      const marks = marksOf(await readEntries(database.url))
      const expected = late.status === 200 ? ["meanwhile", "slow"] : ["meanwhile"]
      assert.deepStrictEqual(marks, expected, JSON.stringify(late.body))
      assert.include([200, 500], late.status)
      const again = await stopped.perform({ op: "capture", body: "as before" })
      assert.strictEqual(again.status, 200)
    } finally {
      await paused.stop()
      await database.drop()
    }
  })
})
