// Being asked to stop while the database does not answer. The tests mostly wait, so they do it together.
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "vitest"
import { createDatabase, type TestDatabase } from "../support/postgres.ts"
import { type PostgresProxy, startPostgresProxy } from "../support/postgresProxy.ts"
import type { Program } from "../support/program.ts"
import { makeCaller, type Reply } from "../support/service.ts"
import { marksOf, readEntries, until, whileHeld } from "./database.ts"
import { makeFolder, startEmbedded } from "./embedded.ts"

interface Scene {
  readonly database: TestDatabase
  readonly proxy: PostgresProxy
  readonly program: Program
  /** Performs a capture; undefined when the connection was closed without an answer. */
  readonly capture: (mark: string) => Promise<Reply | undefined>
}

const onStage = async (play: (scene: Scene) => Promise<void>): Promise<void> => {
  const folder = makeFolder()
  const database = await createDatabase()
  try {
    await using proxy = await startPostgresProxy(database.url)
    await using program = startEmbedded(path.join(folder, "data"), {
      DATABASE_URL: proxy.url,
      LEDGER_PREPARED_STATEMENTS: "false"
    })
    const caller = makeCaller(await program.baseUrl)
    const capture = (body: string) => caller.perform({ op: "capture", body }).catch(() => undefined)
    await play({ database, proxy, program, capture })
  } finally {
    await database.drop()
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

const stopInTime = async (program: Program) => {
  const asked = performance.now()
  assert.strictEqual(await program.stop(), 0, program.output())
  assert.isBelow(performance.now() - asked, 10_000)
}

/** Whatever the caller is told, or not told, is true. */
const assertTrue = async (database: TestDatabase, reply: Reply | undefined, mark: string) => {
  const marks = marksOf(await readEntries(database.url))
  assert.include([200, 500, undefined], reply?.status)
  if (reply?.status === 200) assert.include(marks, mark)
  if (reply?.status === 500) assert.notInclude(marks, mark)
}

describe.concurrent("SIGTERM ends in 10 s with exit code 0 and without a false answer", () => {
  it("while somebody holds the workspace", () =>
    onStage(async ({ capture, database, program }) => {
      const reply = await whileHeld(database.url, async ({ untilAwaited }) => {
        const waiting = capture("held")
        await untilAwaited()
        await stopInTime(program)
        return waiting
      })
      await assertTrue(database, reply, "held")
    }))

  it("while the connection is lost at COMMIT and none can be made", () =>
    onStage(async ({ capture, database, program, proxy }) => {
      proxy.arm("for good")
      const waiting = capture("unknown")
      await until("the connection is lost", async () => proxy.losses() === 1)
      await stopInTime(program)
      await assertTrue(database, await waiting, "unknown")
    }))
})
