// Several replicas of the real program on one database: they start at once where there is nothing,
// and they serve one ledger.
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { afterEach, assert, beforeEach, inject, it } from "vitest"
import { withClient } from "../support/postgres.ts"
import { type Program, startService } from "../support/program.ts"
import { makeCaller } from "../support/service.ts"
import { readEntries } from "./database.ts"
import { makeFolder } from "./embedded.ts"
import { assertGapless } from "./load.ts"

let folder: string
let database: string
let url: string

const administer = (statement: string) => {
  const { host, password, port, username, database: any } = inject("postgres")
  return withClient(`postgres://${username}:${password}@${host}:${port}/${any}`, (client) =>
    client.query(statement)
  )
}

beforeEach(async () => {
  const { host, password, port, username } = inject("postgres")
  folder = makeFolder()
  database = `empty_${randomBytes(8).toString("hex")}`
  url = `postgres://${username}:${password}@${host}:${port}/${database}`
  await administer(`create database ${database}`)
})
afterEach(async () => {
  await administer(`drop database if exists ${database} with (force)`)
  fs.rmSync(folder, { recursive: true, force: true })
})

it("three started at once on an empty database migrate it once and make one workspace", async () => {
  const replicas: ReadonlyArray<Program> = [1, 2, 3].map((number) =>
    startService({
      DATABASE_URL: url,
      LEDGER_TLS: "off",
      LEDGER_DATA_DIR: path.join(folder, String(number))
    })
  )
  try {
    const addresses = await Promise.all(replicas.map(({ baseUrl }) => baseUrl))
    const applied = replicas.filter(({ output }) => output().includes("Migrated the database"))
    assert.strictEqual(applied.length, 1)
    const { tokens, workspaces } = await withClient(url, async (client) => ({
      tokens: (await client.query("select role from tokens")).rows,
      workspaces: (await client.query("select name from workspaces")).rows
    }))
    assert.deepStrictEqual(workspaces, [{ name: "default" }])
    assert.deepStrictEqual(tokens, [{ role: "admin" }])

    const files = [1, 2, 3]
      .map((number) => path.join(folder, String(number), "credentials.json"))
      .filter((file) => fs.existsSync(file))
    assert.strictEqual(files.length, 1, "only who made the token knows it")
    const { token, workspaceId } = JSON.parse(fs.readFileSync(files[0] ?? "", "utf8"))
    const headers = { "X-Proxy-Token": token, "X-Workspace-Id": workspaceId }
    const statuses = await Promise.all(
      addresses.flatMap((address) =>
        Array.from({ length: 50 }, async (_, index) => {
          const operation = { op: "capture", body: `${address} ${index}` }
          return (await makeCaller(address).perform(operation, headers)).status
        })
      )
    )
    assert.deepStrictEqual(
      statuses,
      statuses.map(() => 200)
    )
    const entries = await readEntries(url)
    assert.strictEqual(entries.length, 150)
    assertGapless(entries)
    for (const address of addresses) {
      const { body } = await makeCaller(address).get("/status", headers)
      assert.strictEqual(body.data.ledger.total_operations, 150)
    }
    assert.deepStrictEqual(await Promise.all(replicas.map(({ stop }) => stop())), [0, 0, 0])
  } finally {
    for (const replica of replicas) replica.kill("SIGKILL")
  }
})
