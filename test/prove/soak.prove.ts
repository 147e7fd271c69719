// Two minutes of mixed load on the real program: no error, every answer true, and memory that stays
// where it is.
import * as fs from "node:fs"
import * as path from "node:path"
import { setInterval as every } from "node:timers/promises"
import { afterAll, assert, beforeAll, it } from "vitest"
import { makeFolder, SERVICE_SETTINGS } from "../faults/embedded.ts"
import { createDatabase, type TestDatabase } from "../support/postgres.ts"
import { type Program, startService } from "../support/program.ts"
import { makeCaller } from "../support/service.ts"

const SECONDS = Number(process.env.PROVE_SOAK_SECONDS ?? 120)
const CLIENTS = 64

let folder: string
let database: TestDatabase
let program: Program
beforeAll(async () => {
  folder = makeFolder()
  database = await createDatabase()
  program = startService({
    ...SERVICE_SETTINGS,
    DATABASE_URL: database.url,
    LEDGER_DATA_DIR: path.join(folder, "data")
  })
})
afterAll(async () => {
  program.kill("SIGKILL")
  await program.exited
  await database.drop()
  fs.rmSync(folder, { recursive: true, force: true })
})

type Caller = ReturnType<typeof makeCaller>

/** One client's work: each round writes five entries and reads what it wrote. */
const work = async (caller: Caller, isOver: () => boolean): Promise<number> => {
  let rounds = 0
  for (; !isOver(); rounds++) {
    const source = await caller.record({ op: "capture", body: `seen in round ${rounds}` })
    const id = await caller.record({ op: "commit", title: "to be done", source })
    await caller.record({ op: "claim", id, owner: "agent:soak" })
    const [closed, list] = await Promise.all([
      caller.perform({ op: "close", id, result: "pass", evidence: [{ type: "test" }] }),
      caller.get("/commitments?limit=5")
    ])
    assert.deepStrictEqual([closed.status, list.status], [200, 200])
    await caller.record({ op: "annotate", id, body: "and looked at again" })
    const { body } = await caller.get(`/commitments/${id}`)
    assert.strictEqual(body.data.history.length, 4)
  }
  return rounds
}

const residentMebibytes = (pid: number): number => {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  return Number(kilobytes) / 1024
}

const mean = (values: ReadonlyArray<number>) =>
  values.reduce((sum, value) => sum + value, 0) / values.length

it(`${SECONDS} s of load by ${CLIENTS} clients leave memory flat`, async () => {
  const caller = makeCaller(await program.baseUrl)
  const end = performance.now() + SECONDS * 1_000
  const isOver = () => performance.now() >= end
  const clients = Promise.all(Array.from({ length: CLIENTS }, () => work(caller, isOver)))
  clients.catch(() => {})
  const samples: Array<number> = []
  for await (const _ of every(1_000)) {
    samples.push(residentMebibytes(program.pid))
    if (isOver()) break
  }
  const rounds = (await clients).reduce((sum, count) => sum + count, 0)
  const { body } = await caller.get("/status")
  assert.strictEqual(body.data.ledger.total_operations, rounds * 5)
  // The first third warms up: code is compiled and the heap finds its size.
  const third = Math.floor(samples.length / 3)
  const [early, late] = [mean(samples.slice(third, 2 * third)), mean(samples.slice(2 * third))]
  console.log(
    `${rounds * 5} operations; resident memory ${early.toFixed(0)} MiB in the second third, ${late.toFixed(0)} MiB in the last, ${Math.max(...samples).toFixed(0)} MiB at most`
  )
  assert.isBelow(late, early * 1.1, "memory is flat")
  // The design's measure: the service's process at 64 connections.
  assert.isAtMost(Math.max(...samples), 200)
  assert.strictEqual(await program.stop(), 0, program.output())
})
