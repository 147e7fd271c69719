// `ledger workspace`, `token` and `webhook`: what an operator does without the service.
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { createDatabase, type TestDatabase, withClient } from "../support/postgres.ts"
import { runCommand } from "./command.ts"

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

const ledger = (...parameters: ReadonlyArray<string>) => runCommand(database.url, ...parameters)
const query = (statement: string) =>
  withClient(database.url, async (client) => (await client.query(statement)).rows)

beforeEach(() => withClient(database.url, (client) => client.query("truncate workspaces cascade")))

const createWorkspace = async (name: string): Promise<string> =>
  (await ledger("workspace", "create", name, "--json")).json.workspace.id

describe("workspaces", () => {
  it("without one, commands say how to make one", async () => {
    const { isSuccess, stderr, stdout } = await ledger("token", "list")
    assert.isFalse(isSuccess)
    assert.strictEqual(stdout, "")
    assert.include(stderr, "ledger workspace create")
  })

  it("without one, there is nothing that verify could find wrong", async () => {
    assert.deepEqual((await ledger("verify", "--json")).json, { ok: true, workspaces: [] })
  })

  it("create makes a workspace and an admin token, which is shown once", async () => {
    const { json } = await ledger(
      "workspace",
      "create",
      "payments",
      "--label",
      "human:jane",
      "--json"
    )
    assert.deepInclude(json, { ok: true })
    assert.strictEqual(json.workspace.name, "payments")
    assert.deepInclude(json.token, { actor: "human:jane", role: "admin" })
    assert.match(json.token.token, /^wlt_[0-9A-Za-z]{39}$/)
    const stored = JSON.stringify(await query("select * from tokens"))
    assert.notInclude(stored, json.token.token)
  })

  it("for people the token comes with the advice to keep it", async () => {
    const { stdout } = await ledger("workspace", "create", "payments")
    assert.match(stdout, /admin token {2}wlt_\w+/)
    assert.include(stdout, "shown this once")
  })

  it("list shows them in aligned columns", async () => {
    await createWorkspace("short")
    await createWorkspace("名前 of some length")
    const lines = (await ledger("workspace", "list")).stdout.trimEnd().split("\n")
    assert.strictEqual(lines.length, 3)
    assert.match(lines[0] ?? "", /^ID +NAME +CREATED$/)
    assert.match(lines[1] ?? "", /^[0-9a-f-]{36} {2}short +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
  })

  it("a blank name is refused", async () => {
    const { isSuccess, json } = await ledger("workspace", "create", " ", "--json")
    assert.isFalse(isSuccess)
    assert.strictEqual(json.ok, false)
    assert.strictEqual(json.error.code, "INVALID_REQUEST")
  })
})

describe("which workspace a command is about", () => {
  it("the only one, when none is named", async () => {
    const id = await createWorkspace("only")
    assert.strictEqual((await ledger("token", "list", "--json")).json.workspace_id, id)
  })

  it("of several, none is guessed: the error lists them", async () => {
    const ids = [await createWorkspace("one"), await createWorkspace("two")]
    const { isSuccess, stderr } = await ledger("token", "issue")
    assert.isFalse(isSuccess)
    for (const id of ids) assert.include(stderr, id)
    assert.deepEqual(await query("select 1 from tokens where role = 'member'"), [])
  })

  it("the named one, by id or by name", async () => {
    const [one] = [await createWorkspace("one"), await createWorkspace("two")]
    for (const name of [one, one.toUpperCase(), "one"]) {
      const { json } = await ledger("token", "list", "--workspace", name, "--json")
      assert.strictEqual(json.workspace_id, one)
    }
  })

  it("an unknown or ambiguous name is refused", async () => {
    await createWorkspace("same")
    await createWorkspace("same")
    for (const name of ["other", "same", "0190c0de-0000-7000-8000-00000000000f"]) {
      const { isSuccess, json } = await ledger("verify", "-w", name, "--json")
      assert.isFalse(isSuccess)
      assert.strictEqual(json.error.code, "NOT_FOUND")
    }
  })
})

describe("tokens", () => {
  it("issue makes a member's token, list shows its first characters, revoke ends it", async () => {
    await createWorkspace("only")
    const { token } = (await ledger("token", "issue", "--label", "agent:x", "--json")).json
    assert.deepInclude(token, { role: "member", actor: "agent:x" })
    const list = await ledger("token", "list")
    assert.include(list.stdout, `${token.prefix}…`)
    assert.notInclude(list.stdout, token.token)
    assert.isTrue((await ledger("token", "revoke", token.id)).isSuccess)
    const { tokens } = (await ledger("token", "list", "--json")).json
    const [revoked] = tokens.filter(({ id }: { id: string }) => id === token.id)
    assert.isNotNull(revoked.revoked_at)
  })

  it("the role may be admin and nothing unknown", async () => {
    await createWorkspace("only")
    const { token } = (await ledger("token", "issue", "--role", "admin", "--json")).json
    assert.strictEqual(token.role, "admin")
    const { isSuccess, json } = await ledger("token", "issue", "--role", "king", "--json")
    assert.isFalse(isSuccess)
    assert.strictEqual(json.error.code, "USAGE")
  })

  it("revoking what is not there is an error", async () => {
    await createWorkspace("only")
    const { isSuccess, json } = await ledger("token", "revoke", "tok_x", "--json")
    assert.isFalse(isSuccess)
    assert.strictEqual(json.error.code, "NOT_FOUND")
  })
})

describe("webhooks", () => {
  const URL = "https://example.org/hook"

  it("add is an operation of the ledger, and makes a strong secret that is shown once", async () => {
    await createWorkspace("only")
    const { json } = await ledger("webhook", "add", URL, "--state", "closed", "--json")
    assert.match(json.webhook.secret, /^whsec_[\w+/]{43}=$/)
    const [entry] = await query("select op, op_id, actor, payload from ledger_entries")
    assert.deepInclude(entry, { op: "webhook.register", op_id: json.op_id, actor: "cli" })
    assert.notInclude(entry.payload, json.webhook.secret)
    assert.notInclude((await ledger("webhook", "list")).stdout, json.webhook.secret)
  })

  it("add says when the URL was registered already, and what is replaced", async () => {
    await createWorkspace("only")
    const first = await ledger("webhook", "add", URL, "--state", "closed")
    assert.include(first.stdout, "Registered the webhook for the workspace only.")
    const again = await ledger("webhook", "add", URL)
    assert.include(again.stdout, "This URL was registered already in the workspace only")
    assert.include(again.stdout, "(now: every move)")
  })

  it("a given secret is used and not repeated", async () => {
    await createWorkspace("only")
    const { stdout } = await ledger("webhook", "add", URL, "--secret", "my own secret")
    assert.notInclude(stdout, "my own secret")
    assert.deepEqual(await query("select secret from webhook_endpoints"), [
      { secret: "my own secret" }
    ])
  })

  it("list and remove", async () => {
    await createWorkspace("only")
    const { webhook } = (await ledger("webhook", "add", URL, "--json")).json
    const listed = (await ledger("webhook", "list", "--json")).json.webhooks
    assert.deepInclude(listed[0], { id: webhook.id, url: URL, states: [] })
    assert.isTrue((await ledger("webhook", "remove", webhook.id)).isSuccess)
    assert.deepEqual((await ledger("webhook", "list", "--json")).json.webhooks, [])
    assert.isFalse((await ledger("webhook", "remove", webhook.id)).isSuccess)
  })

  it("an address that is none is refused, and so is an actor that is blank", async () => {
    await createWorkspace("only")
    for (const parameters of [["example"], ["ftp://example.org"], [URL, "--actor", " "]]) {
      assert.isFalse((await ledger("webhook", "add", ...parameters)).isSuccess)
    }
    assert.deepEqual(await query("select 1 from ledger_entries"), [])
  })
})
