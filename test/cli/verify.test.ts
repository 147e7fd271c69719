// `ledger verify`, `export`, `openapi`, `serve` and the program itself: exit codes, streams, signals.
import { createHash } from "node:crypto"
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { withClient } from "../support/postgres.ts"
import { startService, type TestService, WORKSPACE_ID } from "../support/service.ts"
import { commandEnvironment, ended, runCommand, startCommand, temporaryFolder } from "./command.ts"

let service: TestService
let commitmentId: string
beforeAll(async () => {
  service = await startService()
  commitmentId = await service.record({ op: "commit", title: "First", meta: { tier: "T1" } })
  await service.record({ op: "claim", id: commitmentId, owner: "jane" })
  await service.record({ op: "capture", body: "ein Fehler in «Größe» \u2028" })
})
afterAll(() => service.stop())

const ledger = (...parameters: ReadonlyArray<string>) =>
  runCommand(service.database.url, ...parameters)
const program = (...parameters: ReadonlyArray<string>) =>
  ended(startCommand(commandEnvironment(service.database.url), ...parameters))
const tamper = (statement: string) =>
  withClient(service.database.url, (client) => client.query(statement))

describe("verify", () => {
  it("is satisfied with a running service's ledger", async () => {
    const { isSuccess, json } = await ledger("verify", "--json")
    assert.isTrue(isSuccess)
    assert.strictEqual(json.ok, true)
    assert.deepInclude(json.workspaces[0], {
      workspace_id: WORKSPACE_ID,
      ok: true,
      entries: 3,
      commitments: 1,
      memories: 1
    })
    const [head] = (await tamper("select encode(last_hash, 'hex') as hash from workspace_heads"))
      .rows
    assert.strictEqual(json.workspaces[0].last_hash, head.hash)
  })

  it("exits 1 and names what does not match", async () => {
    await tamper("update commitments set owner = 'joan'")
    const { code, stdout } = await program("verify", "--json")
    assert.strictEqual(code, 1)
    const json = JSON.parse(stdout)
    assert.strictEqual(json.ok, false)
    assert.strictEqual(json.error.code, "VERIFICATION_FAILED")
    assert.deepInclude(json.workspaces[0].problem, {
      subject: "commitment",
      id: commitmentId,
      seq: 1,
      differs: "owner"
    })
    const { stderr } = await ledger("verify")
    assert.include(stderr, commitmentId)
    assert.include(stderr, '"joan"')
    await tamper("update commitments set owner = 'jane'")
    assert.isTrue((await ledger("verify")).isSuccess)
  })
})

describe("export", () => {
  it("is a ledger that anybody can verify", async () => {
    const { code, stdout } = await program("export")
    assert.strictEqual(code, 0)
    const entries = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    assert.strictEqual(entries.length, 3)
    let previous = "0".repeat(64)
    for (const [index, entry] of entries.entries()) {
      assert.strictEqual(entry.seq, index + 1)
      assert.strictEqual(entry.prev_hash, previous)
      const { actor, format, op, op_id, payload, record_id, seq, time_milliseconds } = entry
      const hashed = [
        format,
        entry.workspace_id,
        seq,
        previous,
        op_id,
        op,
        actor,
        record_id,
        time_milliseconds,
        payload
      ]
      previous = createHash("sha256").update(JSON.stringify(hashed)).digest("hex")
      assert.strictEqual(entry.hash, previous)
      assert.strictEqual(Date.parse(entry.time), time_milliseconds)
    }
  })

  it("--json is one value", async () => {
    const json = JSON.parse((await program("export", "--json")).stdout)
    assert.strictEqual(json.ok, true)
    assert.deepEqual(
      json.entries.map(({ op }: { op: string }) => op),
      ["commit", "claim", "capture"]
    )
  })
})

describe("openapi", () => {
  it("prints the document, or writes it to a file", async () => {
    const files = temporaryFolder()
    const printed = await ledger("openapi")
    assert.strictEqual(printed.json.openapi.slice(0, 3), "3.1")
    const file = path.join(files.folder, "openapi.json")
    const { json } = await ledger("openapi", "--write", file, "--json")
    assert.deepEqual(json, { ok: true, file })
    assert.deepEqual(JSON.parse(fs.readFileSync(file, "utf8")), printed.json)
    const refused = await ledger("openapi", "--write", files.folder, "--json")
    assert.strictEqual(refused.json.ok, false)
    files.remove()
  })
})

const COMMANDS = [
  "serve",
  "workspace create",
  "workspace list",
  "token issue",
  "token list",
  "token revoke",
  "webhook add",
  "webhook list",
  "webhook remove",
  "verify",
  "export",
  "import beads",
  "openapi"
]

describe("help and errors", () => {
  it.each(COMMANDS)("%s --help describes it, with examples", async (command) => {
    const { isSuccess, stdout } = await ledger(...command.split(" "), "--help")
    assert.isTrue(isSuccess)
    for (const part of ["DESCRIPTION", "EXAMPLES", `ledger ${command}`, "--json"]) {
      assert.include(stdout, part)
    }
  })

  it("a command that is not understood: one line on stderr, or a JSON value on stdout", async () => {
    const people = await program("token", "isue")
    assert.strictEqual(people.code, 1)
    assert.strictEqual(people.stdout, "")
    assert.match(people.stderr, /^error: .*isue/)
    const scripts = await program("token", "isue", "--json")
    assert.strictEqual(scripts.code, 1)
    assert.deepInclude(JSON.parse(scripts.stdout).error, { code: "USAGE" })
  })

  it("a setting that is wrong is named", async () => {
    const child = startCommand({ DATABASE_URL: "mysql://nowhere" }, "verify", "--json")
    const { code, stdout } = await ended(child)
    assert.strictEqual(code, 1)
    assert.include(JSON.parse(stdout).error.message, "DATABASE_URL")
  })
})

describe("serve", () => {
  it("--json prints the address once it is ready, and SIGTERM ends it with exit code 0", async () => {
    const files = temporaryFolder()
    const environment = {
      ...commandEnvironment(service.database.url),
      LEDGER_DATA_DIR: files.folder,
      LEDGER_TLS: "off",
      LEDGER_PORT: "0"
    }
    const child = startCommand(environment, "serve", "--json")
    const outcome = ended(child)
    const stdout = child.stdout ?? assert.fail("no stdout")
    const [line] = await once(createInterface(stdout), "line")
    const { base_url, ok } = JSON.parse(line)
    assert.isTrue(ok)
    assert.strictEqual((await fetch(`${base_url}/status`)).status, 401)
    child.kill("SIGTERM")
    assert.strictEqual((await outcome).code, 0)
    files.remove()
  })
})
