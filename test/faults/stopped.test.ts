// Being asked to stop: under load, through npm, and twice on one folder. Every answer is in the
// ledger, the exit code is 0 and no process is left.
import { type ChildProcess, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { afterEach, assert, beforeEach, it } from "vitest"
import { cleanEnvironment } from "../support/program.ts"
import { makeCaller } from "../support/service.ts"
import {
  clearFolder,
  makeFolder,
  processesOf,
  readEmbedded,
  SERVICE_SETTINGS,
  startEmbedded
} from "./embedded.ts"
import { assertTruthful, startLoad } from "./load.ts"
import { isRunning, killAll, postmasterPid, processTree, untilGone } from "./processes.ts"

const ROOT = path.resolve(import.meta.dirname, "../..")

let folder: string
let dataDir: string
beforeEach(() => {
  folder = makeFolder()
  dataDir = path.join(folder, "data")
})
afterEach(() => clearFolder(folder, [dataDir]))

/** Starts the service once more, to look into its ledger. */
const entriesAfterwards = async () => {
  await using program = startEmbedded(dataDir)
  await program.baseUrl
  const entries = await readEmbedded(dataDir)
  assert.strictEqual(await program.stop(), 0, program.output())
  return entries
}

it("SIGTERM under load: answers are true, exit code 0 within 10 s, nothing left running", async () => {
  await using program = startEmbedded(dataDir)
  const load = startLoad(makeCaller(await program.baseUrl), 32)
  await load.untilPerformed(300)
  const processes = processesOf(program, dataDir)
  assert.isAbove(processes.length, 3)
  const asked = performance.now()
  program.kill("SIGTERM")
  const code = await program.exited
  assert.isBelow(performance.now() - asked, 10_000)
  assert.strictEqual(code, 0, program.output())
  await load.stop()
  assert.deepStrictEqual(processes.filter(isRunning), [])
  assertTruthful(load, await entriesAfterwards())
})

it.each(["SIGTERM", "SIGINT"] as const)(
  "%s: one line says that it stops, and no other",
  async (signal) => {
    await using program = startEmbedded(dataDir)
    const caller = makeCaller(await program.baseUrl)
    await caller.record({ op: "capture", body: "before" })
    const before = program.output()
    program.kill(signal)
    assert.strictEqual(await program.exited, 0, program.output())
    const after = program.output().slice(before.length)
    assert.deepStrictEqual(
      after.split("\n").filter((line) => line !== "" && !line.startsWith("try it:")),
      ["stopping"]
    )
  }
)

it("a second start on the same folder is refused, and the first serves on", async () => {
  await using first = startEmbedded(dataDir)
  const caller = makeCaller(await first.baseUrl)
  await caller.record({ op: "capture", body: "before" })
  await using second = startEmbedded(dataDir)
  const code = await second.exited
  assert.strictEqual(code, 1)
  assert.include(
    second.output(),
    `is in use by another service (process ${first.pid}). Stop it first, or choose another folder (LEDGER_DATA_DIR).`
  )
  assert.notMatch(second.output(), /^\s+at /m)
  await caller.record({ op: "capture", body: "after" })
  assert.strictEqual((await caller.get("/memories")).body.pagination.total, 2)
  assert.strictEqual(await first.stop(), 0, first.output())
})

it("SIGTERM to npm start stops the service and its PostgreSQL, with exit code 0", async () => {
  requirePreparedClone()
  const npm = spawn("npm", ["start"], {
    cwd: ROOT,
    env: {
      ...cleanEnvironment(),
      ...SERVICE_SETTINGS,
      LEDGER_PORT: "0",
      LEDGER_DATA_DIR: dataDir
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = once(npm, "exit")
  try {
    const load = startLoad(makeCaller(await addressOf(npm)), 8)
    await load.untilPerformed(50)
    const processes = [...processTree(npm.pid ?? -1), ...processTree(postmasterPid(dataDir))]
    const asked = performance.now()
    npm.kill("SIGTERM")
    const [code, signal] = await ended
    assert.deepStrictEqual([code, signal], [0, null])
    // npm may end before what it started; all of it must have ended within the ten seconds.
    await untilGone(processes, 10_000)
    assert.isBelow(performance.now() - asked, 10_000)
    await load.stop()
    assertTruthful(load, await entriesAfterwards())
  } finally {
    await killAll(processTree(npm.pid ?? -1))
  }
})

/** In a clone that is not prepared for tests, `npm start` would install over what runs this test. */
const requirePreparedClone = () => {
  const marker = path.join(ROOT, "node_modules/.prepared.json")
  const prepared = fs.existsSync(marker) ? JSON.parse(fs.readFileSync(marker, "utf8")) : undefined
  const lock = createHash("sha256")
    .update(fs.readFileSync(path.join(ROOT, "package-lock.json")))
    .digest("hex")
  assert.deepStrictEqual(prepared, { lock, mode: "test" }, "run npm test: it prepares the clone")
}

const addressOf = (npm: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    const lines: Array<string> = []
    for (const stream of [npm.stdout, npm.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on("line", (line) => {
        lines.push(line)
        const address = /^listening on (\S+)$/.exec(line)?.[1]
        if (address !== undefined) resolve(address)
      })
    }
    npm.once("exit", () => reject(new Error(lines.join("\n"))))
  })
