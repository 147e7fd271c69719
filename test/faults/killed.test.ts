// Sudden death: of the service and its PostgreSQL together, and of PostgreSQL alone. What was
// answered is there afterwards.
import * as path from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { makeCaller } from "../support/service.ts"
import {
  clearFolder,
  makeFolder,
  readEmbedded,
  startEmbedded,
  surviveKills,
  untilServing
} from "./embedded.ts"
import { assertTruthful, startLoad } from "./load.ts"
import { killAll, postmasterPid, processTree } from "./processes.ts"

let folder: string
let dataDir: string
beforeEach(() => {
  folder = makeFolder()
  dataDir = path.join(folder, "data")
})
afterEach(() => clearFolder(folder, [dataDir]))

describe("kill -9 of the service and PostgreSQL right after an answer", () => {
  it("loses nothing that was answered, round after round", () => surviveKills(dataDir, 3))
})

describe("kill -9 of PostgreSQL alone, under load", () => {
  it("leaves every answer true, and the service starts PostgreSQL again", async () => {
    await using program = startEmbedded(dataDir)
    const caller = makeCaller(await program.baseUrl)
    const load = startLoad(caller, 8)
    await load.untilPerformed(100)
    const postmaster = postmasterPid(dataDir)
    await killAll(processTree(postmaster))
    await untilServing(caller)
    assert.notStrictEqual(postmasterPid(dataDir), postmaster)
    await load.stop()
    assertTruthful(load, await readEmbedded(dataDir))
    assert.strictEqual(await program.stop(), 0, program.output())
  })
})

describe("a restart of PostgreSQL under load", () => {
  it("leaves every answer true, and the service goes on by itself", async () => {
    await using program = startEmbedded(dataDir)
    const caller = makeCaller(await program.baseUrl)
    const load = startLoad(caller, 8)
    await load.untilPerformed(100)
    const postmaster = postmasterPid(dataDir)
    // «Fast shutdown»: what an administrator's restart does to a server.
    process.kill(postmaster, "SIGINT")
    await untilServing(caller)
    await load.stop()
    assert.notStrictEqual(postmasterPid(dataDir), postmaster)
    assertTruthful(load, await readEmbedded(dataDir))
    assert.strictEqual(await program.stop(), 0, program.output())
  })
})
