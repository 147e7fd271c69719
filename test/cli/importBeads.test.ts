// `ledger import beads`: real work from elsewhere becomes commitments, once.
import { once } from "node:events"
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { createDatabase, type TestDatabase, withClient } from "../support/postgres.ts"
import { startService, type TestService } from "../support/service.ts"
import { commandEnvironment, ended, runCommand, startCommand, temporaryFolder } from "./command.ts"

const SAMPLE = [
  { id: "s-1", title: "Open", status: "open", priority: 2, created_at: "2026-01-03T00:00:00Z" },
  {
    id: "s-2",
    title: "Done — ünïcode \u2028 and more",
    description: "# Markdown\n\n```sh\necho 'hi'\n```",
    status: "closed",
    priority: 0,
    assignee: "beads/crew/emma",
    labels: ["a,b", "plain"],
    close_reason: "merged in #12",
    notes: "took a while",
    created_at: "2026-01-01T00:00:00Z",
    closed_at: "2026-01-02T00:00:00Z"
  },
  {
    id: "s-3",
    title: "Going on",
    status: "hooked",
    assignee: "jane",
    created_at: "2026-01-02T00:00:00Z"
  },
  { id: "s-4", title: "Closed by nobody", status: "closed", close_reason: "stale" }
]

const asLines = (items: ReadonlyArray<object>) =>
  items.map((item) => `${JSON.stringify(item)}\n`).join("")

let database: TestDatabase
let files: ReturnType<typeof temporaryFolder>
beforeAll(async () => {
  database = await createDatabase()
  files = temporaryFolder()
})
afterAll(async () => {
  files.remove()
  await database.drop()
})
beforeEach(async () => {
  await withClient(database.url, (client) => client.query("truncate workspaces cascade"))
  await ledger("workspace", "create", "work")
})

const ledger = (...parameters: ReadonlyArray<string>) => runCommand(database.url, ...parameters)
const importItems = (items: ReadonlyArray<object>, ...flags: ReadonlyArray<string>) =>
  ledger("import", "beads", files.write("items.jsonl", asLines(items)), "--json", ...flags)
const query = (statement: string) =>
  withClient(database.url, async (client) => (await client.query(statement)).rows)
const operations = async (): Promise<ReadonlyArray<string>> =>
  (await query("select op from ledger_entries order by seq")).map(({ op }) => op)
const assertSound = async () => assert.isTrue((await ledger("verify")).isSuccess)

const NOTHING = { commitments: 0, claims: 0, annotations: 0, closes: 0 }
const EVERYTHING = { commitments: 4, claims: 2, annotations: 1, closes: 2 }

describe("an import", () => {
  it("makes a commitment of each item, and tells what it did", async () => {
    const { json } = await importItems(SAMPLE)
    assert.deepInclude(json, {
      ok: true,
      items: 4,
      already_imported: 0,
      failures: [],
      ...EVERYTHING
    })
    const rows = await query(
      "select title, state, owner, priority, tags from commitments order by created_seq"
    )
    assert.deepEqual(rows, [
      { title: "Closed by nobody", state: "closed", owner: null, priority: null, tags: [] },
      {
        title: "Done — ünïcode \u2028 and more",
        state: "closed",
        owner: "beads/crew/emma",
        priority: "critical",
        tags: ["a;b", "plain"]
      },
      { title: "Going on", state: "claimed", owner: "jane", priority: null, tags: [] },
      { title: "Open", state: "open", owner: null, priority: "medium", tags: [] }
    ])
    await assertSound()
  })

  it("records who imports as the actor", async () => {
    await importItems(SAMPLE.slice(0, 1))
    await importItems(SAMPLE.slice(1, 2), "--actor", "human:jane")
    const actors = await query("select distinct actor from ledger_entries order by actor")
    assert.deepEqual(actors, [{ actor: "human:jane" }, { actor: "import:beads" }])
  })

  it("tells people in a table and shows how far it is on stderr", async () => {
    const file = files.write("items.jsonl", asLines(SAMPLE))
    const child = startCommand(commandEnvironment(database.url), "import", "beads", file)
    const { code, stderr, stdout } = await ended(child)
    assert.strictEqual(code, 0)
    assert.match(stdout, /^commitments +4$/m)
    assert.match(stderr, /^items 4 of 4$/m)
  })

  it("--dry-run tells what would be done and does nothing", async () => {
    const { json } = await importItems(SAMPLE, "--dry-run")
    assert.deepInclude(json, { ok: true, dry_run: true, ...EVERYTHING })
    assert.deepEqual(await operations(), [])
  })
})

describe("a file that is not right", () => {
  it("stops the import before it begins, naming the lines", async () => {
    const text = `${asLines(SAMPLE)}{"id":\n${JSON.stringify(SAMPLE[0])}\n`
    const { isSuccess, stderr } = await ledger("import", "beads", files.write("bad.jsonl", text))
    assert.isFalse(isSuccess)
    assert.include(stderr, "Nothing was imported")
    assert.include(stderr, "line 5: it is not JSON")
    assert.include(stderr, 'line 6: the item "s-1" is also on line 1')
    assert.deepEqual(await operations(), [])
  })

  it("is not UTF-8, or not there", async () => {
    const file = files.write("latin1.jsonl", "")
    fs.writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]))
    for (const [name, message] of [
      [file, "not UTF-8"],
      [path.join(files.folder, "none.jsonl"), "cannot be read"]
    ] as const) {
      const { isSuccess, json } = await ledger("import", "beads", name, "--json")
      assert.isFalse(isSuccess)
      assert.include(json.error.message, message)
    }
  })

  it("an empty one imports nothing and is no error", async () => {
    assert.deepInclude((await importItems([])).json, { ok: true, items: 0, ...NOTHING })
  })
})

describe("importing again", () => {
  it("adds nothing, also when every idempotency key is forgotten", async () => {
    await importItems(SAMPLE)
    const before = await operations()
    await query("delete from idempotency_keys")
    const { json } = await importItems(SAMPLE, "--actor", "somebody:else")
    assert.deepInclude(json, { ok: true, already_imported: 4, ...NOTHING })
    assert.deepEqual(await operations(), before)
  })

  it("leaves alone what people have done since", async () => {
    await importItems(SAMPLE)
    const [closed] = await query("select id from commitments where title = 'Closed by nobody'")
    await runInWorkspace({ op: "reopen", id: closed.id })
    const { json } = await importItems(SAMPLE, "--workspace", "work")
    assert.deepInclude(json, { already_imported: 4, ...NOTHING })
    assert.deepEqual(
      await query("select state from commitments where title = 'Closed by nobody'"),
      [{ state: "open" }]
    )
  })

  it("of a newer export adds what has happened to the items", async () => {
    await importItems(SAMPLE)
    const newer = SAMPLE.map((item) =>
      item.id === "s-3"
        ? { ...item, status: "closed", notes: "finished", close_reason: "ok" }
        : item
    )
    const { json } = await importItems([...newer, { ...SAMPLE[0], id: "s-5" }])
    const added = { already_imported: 3, commitments: 1, claims: 0, annotations: 1, closes: 1 }
    assert.deepInclude(json, added)
    await assertSound()
  })

  it("by two at once imports once", async () => {
    const file = files.write("items.jsonl", asLines(SAMPLE))
    const both = await Promise.all([1, 2].map(() => ledger("import", "beads", file, "--json")))
    assert.deepEqual(
      both.map(({ isSuccess }) => isSuccess),
      [true, true]
    )
    assert.strictEqual((await operations()).length, 9)
    await assertSound()
  })

  it("completes an import that was killed", async () => {
    const items = Array.from({ length: 1500 }, (_, index) => ({ ...SAMPLE[1], id: `k-${index}` }))
    const file = files.write("many.jsonl", asLines(items))
    const child = startCommand(commandEnvironment(database.url), "import", "beads", file)
    // The first line of progress: the import is under way, and far from its end.
    if (child.stderr !== null) await once(child.stderr, "data")
    child.kill("SIGKILL")
    await ended(child)
    const before = await operations()
    assert.isAbove(before.length, 0)
    assert.isBelow(before.length, 1500 * 4)
    const { json } = await ledger("import", "beads", file, "--json")
    assert.isTrue(json.ok)
    const after = await operations()
    for (const op of ["commit", "claim", "annotate", "close"]) {
      assert.strictEqual(after.filter((name) => name === op).length, 1500, op)
    }
    assert.deepEqual(await query("select distinct state from commitments"), [{ state: "closed" }])
    await assertSound()
  })
})

/** As somebody else would do it, without the import. */
const runInWorkspace = async (operation: object) => {
  await using service = await startService({ database })
  const { token, workspace } = await issuedToken()
  const reply = await service.perform(operation, {
    "X-Proxy-Token": token,
    "X-Workspace-Id": workspace
  })
  assert.strictEqual(reply.status, 200)
}

const issuedToken = async () => {
  const { json } = await ledger("token", "issue", "--workspace", "work", "--json")
  return { token: json.token.token as string, workspace: json.workspace_id as string }
}

const REAL_FILE = path.resolve(import.meta.dirname, "../../../shared/data/beads-issues.jsonl")

describe.skipIf(!fs.existsSync(REAL_FILE))("704 real items, beside a running service", () => {
  let service: TestService
  beforeEach(async () => {
    service = await startService()
  })
  afterEach(() => service.stop())

  it("are 704 commitments, 403 of them closed, and importing them again adds nothing", async () => {
    const realImport = () =>
      runCommand(service.database.url, "import", "beads", REAL_FILE, "--json")
    assert.deepInclude((await realImport()).json, { items: 704, commitments: 704, closes: 403 })
    const { body } = await service.get("/status")
    const { claimed, closed, open } = body.data.commitments
    assert.strictEqual(open + claimed + closed, 704)
    assert.strictEqual(closed, 403)
    assert.strictEqual(claimed, 9)
    assert.isTrue((await runCommand(service.database.url, "verify", "--json")).json.ok)

    assert.deepInclude((await realImport()).json, { ok: true, already_imported: 704, ...NOTHING })
    const again = (await service.get("/status")).body.data
    assert.deepEqual(again, body.data)

    const page = await service.get("/commitments?limit=100&state=closed")
    const [{ id }] = page.body.data
    const one = (await service.get(`/commitments/${id}`)).body.data
    assert.strictEqual(one.result, "pass")
    assert.strictEqual(one.evidence[0].type, "log")
    assert.isString(one.meta.beads.id)
  })
})
