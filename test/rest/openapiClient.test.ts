// What a stranger does with openapi/openapi.json: generates types from it, compiles a program against
// them, and runs the program on the service.
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import openapiTS, { astToString } from "openapi-typescript"
import { afterAll, assert, beforeAll, it } from "vitest"
import { startService, type TestService, TOKEN, WORKSPACE_ID } from "../support/service.ts"

const root = path.resolve(import.meta.dirname, "../..")
const run = promisify(execFile)

let service: TestService
let folder: string

beforeAll(async () => {
  service = await startService()
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-openapi-"))
  fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"), "junction")
  const document = fs.readFileSync(path.join(root, "openapi/openapi.json"), "utf8")
  write("ledger.ts", astToString(await openapiTS(document)))
  write("package.json", JSON.stringify({ type: "module" }))
  write("tsconfig.json", JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ["*.ts"] }))
})

afterAll(async () => {
  await service.stop()
  fs.rmSync(folder, { recursive: true, force: true })
})

const COMPILER_OPTIONS = {
  target: "ES2024",
  module: "NodeNext",
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  skipLibCheck: true,
  types: ["node"],
  noEmit: true
}

const write = (name: string, text: string) => fs.writeFileSync(path.join(folder, name), text)

const compile = () => {
  const compiler = path.join(root, "node_modules/@typescript/native/bin/tsc")
  return run(process.execPath, [compiler, "--project", "tsconfig.json"], { cwd: folder })
}

const PROGRAM = `
import createClient from "openapi-fetch"
import type { paths } from "./ledger.ts"

const [baseUrl = "", token = "", workspaceId = ""] = process.argv.slice(2)
const ledger = createClient<paths>({ baseUrl, headers: { "X-Proxy-Token": token } })
const header = { "X-Workspace-Id": workspaceId }

const created = await ledger.POST("/ops", {
  params: { header },
  body: { op: "commit", title: "Claimed by generated types", tags: ["generated"] }
})
if (created.error !== undefined) throw new Error(created.error.error.message)
const id: string = created.data.record_id

await ledger.POST("/ops", {
  params: { header: { ...header, "Idempotency-Key": "claim-once" } },
  body: { op: "claim", id, owner: "agent:generated" }
})
const again = await ledger.POST("/ops", {
  params: { header },
  body: { op: "claim", id, owner: "agent:other" }
})
const code: "VALIDATION_ERROR" | undefined =
  again.error?.error.code === "VALIDATION_ERROR" ? again.error.error.code : undefined

const read = await ledger.GET("/commitments/{id}", { params: { header, path: { id } } })
const state: "open" | "claimed" | "in_review" | "closed" | "reopened" | undefined =
  read.data?.data.state
const list = await ledger.GET("/commitments", {
  params: { header, query: { state: "claimed", tags: "generated", limit: 10 } }
})
const titles: Array<string> | undefined = list.data?.data.map(({ title }) => title)
console.log(JSON.stringify({ state, owner: read.data?.data.owner, code, titles }))
`

it("a program with generated types compiles and claims a commitment", async () => {
  write("program.ts", PROGRAM)
  await compile()
  const { stdout } = await run(
    process.execPath,
    ["program.ts", service.baseUrl, TOKEN, WORKSPACE_ID],
    { cwd: folder }
  )
  assert.deepStrictEqual(JSON.parse(stdout), {
    state: "claimed",
    owner: "agent:generated",
    code: "VALIDATION_ERROR",
    titles: ["Claimed by generated types"]
  })
})

const MISTAKES = `
import createClient from "openapi-fetch"
import type { paths, webhooks } from "./ledger.ts"

const ledger = createClient<paths>({ baseUrl: "https://127.0.0.1:8443" })
const params = { header: { "X-Workspace-Id": "" } }

export const mistakes = [
  // @ts-expect-error a claim needs an owner
  ledger.POST("/ops", { params, body: { op: "claim", id: "cmt_1" } }),
  // @ts-expect-error a close needs evidence, if only an empty array
  ledger.POST("/ops", { params, body: { op: "close", id: "cmt_1", result: "pass" } }),
  // @ts-expect-error there is no such operation
  ledger.POST("/ops", { params, body: { op: "delete", id: "cmt_1" } }),
  // @ts-expect-error the workspace must be named
  ledger.GET("/status", {}),
  // @ts-expect-error there is no such state
  ledger.GET("/commitments", { params: { ...params, query: { state: "done" } } })
]

type Callback = webhooks["commitmentStateChanged"]["post"]["requestBody"]["content"]["application/json"]
export const tierOf = (callback: Callback): "T1" | "T2" | "T3" | null => callback.commitment.tier
`

it("an incomplete operation does not compile", async () => {
  write("program.ts", MISTAKES)
  await compile()
})
