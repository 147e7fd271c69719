// The published package, as somebody else's program meets it: packed, installed in an empty folder,
// compiled against and run, over the default local certificate.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { createDatabase, type TestDatabase } from "../support/postgres.ts"
import { cleanEnvironment, type Program, startService } from "../support/program.ts"

const ROOT = path.resolve(import.meta.dirname, "../..")
const TSC = path.join(ROOT, "node_modules/@typescript/native/bin/tsc")

const PROGRAM = `
import { createLedgerClient, isLedgerError } from "workspace-ledger/client"
import { readFileSync } from "node:fs"

const { baseUrl, caFile, token, workspaceId } = JSON.parse(readFileSync(process.argv[2]!, "utf8"))
const client = createLedgerClient({ baseUrl, token, workspaceId, ca: caFile })

const memory = await client.ops.mutate({ op: "capture", body: "the build is red", kind: "observation" })
const commitment = await client.ops.mutate({ op: "commit", title: "mend the build", source: memory.record_id })
const id: string = commitment.record_id
await client.ops.mutate({ op: "claim", id, owner: "agent:claude" })
const refused = await client.ops.mutate({ op: "claim", id, owner: "agent:other" }).catch((error: unknown) => error)
await client.ops.mutate({ op: "close", id, result: "pass", evidence: [{ type: "build", url: "https://ci.example.org/1" }] })
const { data } = await client.commitments.get.query({ id })
const open = await client.commitments.list.query({ state: "open" })
const status = await client.status.query()
console.log(JSON.stringify({
  refused: isLedgerError(refused, "VALIDATION_ERROR"),
  state: data.state,
  operations: data.history.map(({ op }) => op),
  open: open.pagination.total,
  total: status.data.ledger.total_operations
}))
`

const INCOMPLETE = `
import { createLedgerClient } from "workspace-ledger/client"
const client = createLedgerClient({ baseUrl: "", token: "", workspaceId: "" })
await client.ops.mutate({ op: "claim", id: "cmt_1" })
`

const TSCONFIG = {
  compilerOptions: {
    module: "NodeNext",
    target: "ES2023",
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [path.join(ROOT, "node_modules/@types")]
  }
}

let folder: string
let database: TestDatabase
let service: Program

const run = (command: string, parameters: ReadonlyArray<string>) =>
  spawnSync(command, parameters, { cwd: folder, encoding: "utf8", env: cleanEnvironment() })

const compile = (file: string, text: string) => {
  fs.writeFileSync(path.join(folder, file), text)
  fs.writeFileSync(
    path.join(folder, "tsconfig.json"),
    JSON.stringify({ ...TSCONFIG, files: [file] })
  )
  return run(process.execPath, [TSC, "--project", "tsconfig.json"])
}

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-package-"))
  database = await createDatabase()
  service = startService({
    DATABASE_URL: database.url,
    LEDGER_DATA_DIR: path.join(folder, "data")
  })
  const build = spawnSync(process.execPath, ["scripts/build.mjs"], { cwd: ROOT, encoding: "utf8" })
  assert.strictEqual(build.status, 0, build.stdout)
  const pack = spawnSync(
    "npm",
    ["pack", "--ignore-scripts", "--json", "--pack-destination", folder],
    {
      cwd: ROOT,
      encoding: "utf8"
    }
  )
  const tarball = fs.readdirSync(folder).find((file) => file.endsWith(".tgz"))
  assert.isDefined(tarball, pack.stderr)
  fs.writeFileSync(path.join(folder, "package.json"), '{"type":"module","private":true}')
  const install = run("npm", [
    "install",
    "--prefer-offline",
    "--ignore-scripts",
    "--omit=optional",
    "--no-audit",
    "--no-fund",
    `./${tarball}`
  ])
  assert.strictEqual(install.status, 0, install.stderr)
  await service.baseUrl
}, 120_000)

afterAll(async () => {
  await service.stop()
  await database.drop()
  fs.rmSync(folder, { recursive: true, force: true })
})

describe("the package workspace-ledger, installed in an empty folder", () => {
  it("compiles and runs a program that captures, commits, claims and closes", () => {
    const compiled = compile("program.ts", PROGRAM)
    assert.strictEqual(compiled.status, 0, compiled.stdout)
    const ran = run(process.execPath, ["program.ts", path.join(folder, "data/credentials.json")])
    assert.strictEqual(ran.status, 0, ran.stderr)
    assert.deepStrictEqual(JSON.parse(ran.stdout), {
      refused: true,
      state: "closed",
      operations: ["commit", "claim", "close"],
      open: 0,
      total: 4
    })
  })

  it("does not compile a claim without an owner", () => {
    const compiled = compile("incomplete.ts", INCOMPLETE)
    assert.notStrictEqual(compiled.status, 0)
    assert.match(compiled.stdout, /owner/)
  })

  it("has the command line, with its help", () => {
    const help = run(process.execPath, ["node_modules/workspace-ledger/bin/ledger.mjs", "--help"])
    assert.strictEqual(help.status, 0, help.stderr)
    assert.match(help.stdout, /ledger/)
  })
})
