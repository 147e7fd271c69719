// The real program on its embedded PostgreSQL, in a folder of its own, for tests of what a power cut
// or a signal leaves behind. `test/prove` runs the same rounds more often.
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert } from "vitest"
import { type Program, startService } from "../support/program.ts"
import { makeCaller, TOKEN, WORKSPACE_ID } from "../support/service.ts"
import { marksOf, readEntries, until } from "./database.ts"
import { assertGapless } from "./load.ts"
import { embeddedConnection, killAll, postmasterPid, processTree } from "./processes.ts"

export const SERVICE_SETTINGS = {
  LEDGER_TLS: "off",
  LEDGER_BOOTSTRAP_WORKSPACE: WORKSPACE_ID,
  LEDGER_BOOTSTRAP_TOKEN: TOKEN
}

/** A folder that PostgreSQL's own user can reach too. */
export const makeFolder = (): string => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-faults-"))
  fs.chmodSync(folder, 0o755)
  return folder
}

export const startEmbedded = (dataDir: string, env: Record<string, string> = {}): Program =>
  startService({ ...SERVICE_SETTINGS, LEDGER_DATA_DIR: dataDir, ...env })

/** The service, the postmaster and all that it has forked. */
export const processesOf = (program: Program, dataDir: string): ReadonlyArray<number> => [
  ...new Set([...processTree(program.pid), ...processTree(postmasterPid(dataDir))])
]

export const readEmbedded = (dataDir: string) => readEntries(embeddedConnection(dataDir))

/** Ends everything that a test left in the folder, also when it failed half way. */
export const clearFolder = async (folder: string, dataDirs: ReadonlyArray<string>) => {
  for (const dataDir of dataDirs) {
    const postmaster = fs.existsSync(path.join(dataDir, "postgres/data/postmaster.pid"))
      ? postmasterPid(dataDir)
      : 0
    if (postmaster > 0 && isPostgres(postmaster)) await killAll(processTree(postmaster))
  }
  fs.rmSync(folder, { recursive: true, force: true })
}

const isPostgres = (pid: number): boolean =>
  fs.existsSync(`/proc/${pid}/cmdline`) &&
  fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("postgres")

/**
 * Rounds of a power cut: right after an answer the service and PostgreSQL are killed, and the next
 * start must show every operation that any earlier round was answered.
 */
export const surviveKills = async (dataDir: string, rounds: number): Promise<void> => {
  const answered: Array<string> = []
  for (let round = 0; round < rounds; round++) {
    const program = startEmbedded(dataDir)
    const caller = makeCaller(await program.baseUrl)
    for (const mark of answered.slice(-1)) {
      const { body } = await caller.get("/memories?limit=1")
      assert.strictEqual(body.data[0].body, mark)
    }
    const marks = Array.from({ length: 1 + (round % 4) }, (_, index) => `round ${round}.${index}`)
    for (const mark of marks) {
      const reply = await caller.perform({ op: "capture", body: mark })
      assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
      answered.push(mark)
    }
    await killAll(processesOf(program, dataDir))
    assert.strictEqual(await program.exited, "SIGKILL")
  }
  const program = startEmbedded(dataDir)
  await program.baseUrl
  const entries = await readEmbedded(dataDir)
  assertGapless(entries)
  assert.deepStrictEqual(marksOf(entries), answered)
  assert.strictEqual(await program.stop(), 0, program.output())
}

/** Waits until the service performs an operation again. */
export const untilServing = (caller: Pick<ReturnType<typeof makeCaller>, "perform">) =>
  until("the service performs operations again", async () => {
    const reply = await caller.perform({ op: "capture", body: `serving at ${performance.now()}` })
    return reply.status === 200
  })
