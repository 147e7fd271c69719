// `ledger webhook update`, `rotate`, `test` and `ledger delivery …`: what an operator does about
// webhooks, beside a service that sends to a real receiver.
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { verifyWebhook } from "../../src/webhookVerification.ts"
import { createDatabase, type TestDatabase, withClient } from "../support/postgres.ts"
import { type ReceivedRequest, startReceiver, type TestReceiver } from "../support/receiver.ts"
import { startService } from "../support/service.ts"
import { runCommand } from "./command.ts"

let database: TestDatabase
let receiver: TestReceiver
let webhook: { readonly id: string; readonly secret: string }

beforeAll(async () => {
  database = await createDatabase()
  // Makes the one workspace that the commands are about.
  await (await startService({ database })).stop()
})
afterAll(() => database.drop())

const ledger = (...parameters: ReadonlyArray<string>) => runCommand(database.url, ...parameters)

beforeEach(async () => {
  await withClient(database.url, (client) =>
    client.query("truncate webhook_endpoints, webhook_events, webhook_deliveries, webhook_attempts")
  )
  receiver = await startReceiver()
  webhook = (await ledger("webhook", "add", receiver.url, "--json")).json.webhook
})
afterEach(() => receiver.stop())

/** Runs a service until that many requests have come, and stops it: then every attempt is logged. */
const served = async (count: number, env: Record<string, string> = {}) => {
  await using _service = await startService({ database, env })
  return await receiver.take(count)
}

const servedOne = async (): Promise<ReceivedRequest> => {
  const [request] = await served(1)
  if (request === undefined) throw new Error("Nothing came.")
  return request
}

const ONE_RETRY = { LEDGER_WEBHOOK_RETRY_DELAYS: "1 millis" }

const testEvent = async () => (await ledger("webhook", "test", webhook.id, "--json")).json

const verify = async ({ body, headers }: ReceivedRequest, secret: string) =>
  (await verifyWebhook(body, headers, secret)).ok

interface ListedDelivery {
  readonly id: string
  readonly webhook_id: string
  readonly status: string
  readonly payload: string
  readonly next_attempt_at: string | null
  readonly attempts: ReadonlyArray<Record<string, unknown>>
}

const deliveries = async (
  ...parameters: ReadonlyArray<string>
): Promise<ReadonlyArray<ListedDelivery>> =>
  (await ledger("delivery", "list", ...parameters, "--json")).json.deliveries

/** The code of the error that a command ends with. */
const refusal = async (...parameters: ReadonlyArray<string>) => {
  const { isSuccess, json } = await ledger(...parameters, "--json")
  assert.isFalse(isSuccess)
  return json.error.code
}

describe("webhook update", () => {
  it("disables and enables; the list shows which", async () => {
    assert.match((await ledger("webhook", "list")).stdout, /every move +enabled/)
    const updated = await ledger("webhook", "update", webhook.id, "--disable")
    assert.match(updated.stdout, /now +disabled/)
    assert.match((await ledger("webhook", "list")).stdout, /every move +disabled/)
    const { json } = await ledger("webhook", "update", webhook.id, "--enable", "--json")
    assert.isTrue(json.webhook.enabled)
  })

  it("filters, and leaves what is not given as it is", async () => {
    await ledger("webhook", "update", webhook.id, "--disable")
    const { json } = await ledger("webhook", "update", webhook.id, "--state", "closed", "--json")
    assert.deepInclude(json.webhook, { states: ["closed"], enabled: false, url: receiver.url })
  })

  it.each<[string, ReadonlyArray<string>]>([
    ["INVALID_REQUEST", []],
    ["USAGE", ["--state", "open"]]
  ])("%s: %j", async (code, parameters) => {
    assert.strictEqual(await refusal("webhook", "update", webhook.id, ...parameters), code)
  })

  it("what waits for a disabled webhook is sent when it is enabled", async () => {
    await ledger("webhook", "update", webhook.id, "--disable")
    await testEvent()
    assert.deepEqual(
      (await deliveries()).map(({ status }) => status),
      ["pending"]
    )
    await ledger("webhook", "update", webhook.id, "--enable")
    assert.strictEqual((await servedOne()).headers["ledger-attempt"], "1")
  })
})

describe("webhook rotate", () => {
  it("shows a new secret once; until the overlap ends both secrets sign", async () => {
    const { json } = await ledger("webhook", "rotate", webhook.id, "--json")
    assert.match(json.webhook.secret, /^whsec_[\w+/]{43}=$/)
    assert.notStrictEqual(json.webhook.secret, webhook.secret)
    assert.isString(json.webhook.previous_secret_until)
    assert.notInclude((await ledger("webhook", "list", "--json")).stdout, json.webhook.secret)
    await testEvent()
    const request = await servedOne()
    assert.isTrue(await verify(request, json.webhook.secret))
    assert.isTrue(await verify(request, webhook.secret))
  })

  it("without an overlap the old secret ends at once", async () => {
    const { json } = await ledger("webhook", "rotate", webhook.id, "--overlap-hours", "0", "--json")
    await testEvent()
    const request = await servedOne()
    assert.isTrue(await verify(request, json.webhook.secret))
    assert.isFalse(await verify(request, webhook.secret))
  })

  it("a given secret is used and not repeated", async () => {
    const { stdout } = await ledger("webhook", "rotate", webhook.id, "--secret", "my own", "--json")
    assert.notInclude(stdout, "my own")
    await testEvent()
    const request = await servedOne()
    assert.isTrue(await verify(request, "my own"))
  })

  it.each<[string, ReadonlyArray<string>]>([
    ["USAGE", ["--overlap-hours", "-1"]],
    ["USAGE", ["--overlap-hours", "721"]],
    ["USAGE", ["--overlap-hours", "soon"]],
    ["INVALID_REQUEST", ["--secret", " "]],
    ["INVALID_REQUEST", ["--secret", "s".repeat(1_025)]]
  ])("%s: %j", async (code, parameters) => {
    assert.strictEqual(await refusal("webhook", "rotate", webhook.id, ...parameters), code)
  })
})

describe("webhook test", () => {
  it("sends an example that verifies like any other callback", async () => {
    const { event_id } = await testEvent()
    const request = await servedOne()
    assert.isTrue(await verify(request, webhook.secret))
    assert.strictEqual(request.headers["webhook-id"], event_id)
    assert.strictEqual(JSON.parse(request.text).commitment.currentState, "claimed")
  })

  it("says when the webhook is disabled", async () => {
    await ledger("webhook", "update", webhook.id, "--disable")
    assert.include((await ledger("webhook", "test", webhook.id)).stdout, "it is disabled")
    assert.isTrue((await testEvent()).waits)
    await ledger("webhook", "update", webhook.id, "--enable")
    assert.notInclude((await ledger("webhook", "test", webhook.id)).stdout, "it is disabled")
    assert.isFalse((await testEvent()).waits)
  })
})

describe("delivery list", () => {
  it("is a table, newest first, that tells how the last attempt went", async () => {
    receiver.answerNext(503, 503)
    await testEvent()
    await served(2, ONE_RETRY)
    await testEvent()
    await served(1)
    const lines = (await ledger("delivery", "list")).stdout.trimEnd().split("\n")
    assert.strictEqual(lines.length, 3)
    assert.match(
      lines[0] ?? "",
      /^ID +WEBHOOK +STATUS +ATTEMPTS +LAST +NEXT ATTEMPT +CREATED +DETAIL$/
    )
    assert.match(lines[1] ?? "", /^dlv_\w+ +whk_\w+ +delivered +1 +200 +– +\d{4}-.* UTC +–$/)
    assert.match(lines[2] ?? "", /^dlv_\w+ +whk_\w+ +failed +2 +503 +– +\d{4}-.* UTC +–$/)
  })

  it("what waits shows when it is tried next, and what had no answer shows why", async () => {
    receiver.answerNext((socket) => socket.destroy())
    await testEvent()
    await served(1)
    const { stdout } = await ledger("delivery", "list")
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`
    assert.match(stdout, new RegExp(`pending +1 +reset +${time} +${time} +other side closed\n`))
  })

  it("as JSON it has every attempt and the payload", async () => {
    receiver.answerNext({ status: 500, body: "out of order" })
    await testEvent()
    const [request] = await served(2, ONE_RETRY)
    assert.isDefined(request)
    const [delivery] = await deliveries()
    assert.deepInclude(delivery, { webhook_id: webhook.id, status: "delivered" })
    assert.deepInclude(delivery, { payload: request.text, next_attempt_at: null })
    assert.deepInclude(delivery?.attempts[0], {
      attempt: 1,
      status: 500,
      failure: "status",
      response: "out of order"
    })
    assert.deepInclude(delivery?.attempts[1], { attempt: 2, status: 200, failure: null })
  })

  it("filters by webhook and by status, and pages", async () => {
    const other = (await ledger("webhook", "add", `${receiver.url}/other`, "--json")).json.webhook
    const sent = [await testEvent(), await testEvent(), await testEvent()]
    await ledger("webhook", "test", other.id)
    await ledger("webhook", "remove", other.id)
    const ids = async (...parameters: ReadonlyArray<string>) =>
      (await deliveries(...parameters)).map(({ id }) => id)
    const newestFirst = sent.map(({ delivery_id }) => delivery_id).reverse()
    assert.deepEqual(await ids("--webhook", webhook.id), newestFirst)
    assert.deepEqual(await ids("--status", "pending"), newestFirst)
    assert.deepEqual(await ids("--status", "pending", "--limit", "1", "--offset", "1"), [
      sent[1]?.delivery_id
    ])
    assert.strictEqual((await ids("--status", "cancelled")).length, 1)
    assert.strictEqual((await ids("--limit", "1000")).length, 4)
  })

  it.each<[string, ReadonlyArray<string>]>([
    ["USAGE", ["--limit", "0"]],
    ["USAGE", ["--limit", "1.5"]],
    ["USAGE", ["--offset", "-1"]],
    ["USAGE", ["--status", "lost"]],
    ["NOT_FOUND", ["--webhook", "whk_01h455vb4pex5vsknk084sn02q"]]
  ])("%s: %j", async (code, parameters) => {
    assert.strictEqual(await refusal("delivery", "list", ...parameters), code)
  })
})

describe("delivery show", () => {
  const HOSTILE = "\x1b]0;owned\x07\u009b31m red\u202e\r\nnext\tline"

  it("has every attempt with its outcome, time, detail and answer, and the payload", async () => {
    receiver.answerNext({ status: 503, body: "out of order" }, (socket) => socket.destroy())
    const { delivery_id, event_id } = await testEvent()
    const [request] = await served(2, ONE_RETRY)
    const lines = (await ledger("delivery", "show", delivery_id)).stdout.split("\n")
    const shown = lines.join("\n")
    for (const line of [
      `id          ${delivery_id}`,
      `webhook     ${webhook.id}`,
      `event       ${event_id}`,
      "status      failed",
      "  answer  out of order",
      "  detail  other side closed"
    ]) {
      assert.include(lines, line)
    }
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, \d+ ms`
    assert.match(shown, new RegExp(`^ended {7}${time.split(",")[0]}$`, "m"))
    assert.match(shown, new RegExp(`^Attempt 1: 503, ${time}$`, "m"))
    assert.match(shown, new RegExp(`^Attempt 2: reset, ${time}$`, "m"))
    const payload = shown.split("Payload:\n")[1] ?? ""
    assert.deepEqual(JSON.parse(payload), JSON.parse(request?.text ?? ""))
    assert.include(payload, '\n  "commitment": {\n    "id": "cmt_')
  })

  it("what waits shows when it is tried next, or that it was not tried yet", async () => {
    const { delivery_id } = await testEvent()
    const show = async () => (await ledger("delivery", "show", delivery_id)).stdout
    assert.include(await show(), "No attempt has ended yet.")
    receiver.answerNext(500)
    await served(1)
    assert.match(await show(), /^next attempt +\d{4}-.* UTC$/m)
  })

  it("shows nothing to a terminal that a receiver or a payload could command it with", async () => {
    const unprintable = /[^\n\P{C}]|[\p{Zl}\p{Zp}]/u
    assert.match(HOSTILE, unprintable)
    receiver.answerNext({ status: 500, body: `${HOSTILE}${"x".repeat(1_000)}` })
    const { delivery_id } = await testEvent()
    await withClient(database.url, (client) =>
      client.query("update webhook_events set payload = $1", [JSON.stringify({ title: HOSTILE })])
    )
    await served(1)
    await withClient(database.url, (client) =>
      client.query("update webhook_attempts set detail = $1", [HOSTILE])
    )
    const { stdout } = await ledger("delivery", "show", delivery_id)
    assert.notMatch(stdout, unprintable)
    assert.match(stdout, /^ {2}detail {2}\ufffd\]0;owned\ufffd+31m red\ufffd next line$/m)
    assert.match(stdout, /^ {2}answer {2}\ufffd\]0;owned.* next linex{200,300}…$/m)
    assert.deepEqual(JSON.parse(stdout.split("Payload:\n")[1] ?? ""), { title: HOSTILE })
    const list = (await ledger("delivery", "list")).stdout
    assert.notMatch(list, unprintable)
    assert.include(list, "31m red\ufffd next line")
  })

  it("as JSON it is the delivery as the list has it", async () => {
    receiver.answerNext({ status: 500, body: HOSTILE })
    const { delivery_id } = await testEvent()
    await served(1)
    const { json } = await ledger("delivery", "show", delivery_id, "--json")
    assert.isTrue(json.ok)
    assert.deepEqual([json.delivery], await deliveries())
    assert.strictEqual(json.delivery.attempts[0].response, HOSTILE)
  })

  it.each(["dlv_01h455vb4pex5vsknk084sn02q", "whk_01h455vb4pex5vsknk084sn02q", "\x1b[31m"])(
    "says that there is none under the id %j",
    async (id) => {
      const { isSuccess, stderr } = await ledger("delivery", "show", id)
      assert.isFalse(isSuccess)
      assert.match(stderr, /There is no delivery "[^"\p{C}]+"\./u)
      assert.strictEqual(await refusal("delivery", "show", id), "NOT_FOUND")
    }
  )
})

describe("delivery resend", () => {
  it("sends the same event and bytes again, as another delivery from attempt 1", async () => {
    const { delivery_id } = await testEvent()
    const first = await servedOne()
    const resent = (await ledger("delivery", "resend", delivery_id, "--json")).json
    assert.notStrictEqual(resent.delivery_id, delivery_id)
    const second = await servedOne()
    assert.strictEqual(second.text, first.text)
    for (const header of ["webhook-id", "x-service-signature", "ledger-attempt"]) {
      assert.strictEqual(second.headers[header], first.headers[header])
    }
  })

  it("is refused while an attempt is pending", async () => {
    const { delivery_id } = await testEvent()
    assert.strictEqual(await refusal("delivery", "resend", delivery_id), "VALIDATION_ERROR")
    assert.strictEqual((await deliveries()).length, 1)
  })

  it("says when the webhook is disabled, and that it waits", async () => {
    const { delivery_id } = await testEvent()
    await servedOne()
    await ledger("webhook", "update", webhook.id, "--disable")
    const { stdout } = await ledger("delivery", "resend", delivery_id)
    assert.include(stdout, "waits until the webhook is enabled")
    await ledger("webhook", "update", webhook.id, "--enable")
    await servedOne()
    const again = await ledger("delivery", "resend", delivery_id)
    assert.isTrue(again.isSuccess)
    assert.notInclude(again.stdout, "waits")
  })

  it("is refused when the webhook was removed", async () => {
    const { delivery_id } = await testEvent()
    await ledger("webhook", "remove", webhook.id)
    assert.strictEqual(await refusal("delivery", "resend", delivery_id), "NOT_FOUND")
  })
})

describe("delivery resend-failed", () => {
  const resendFailed = async (since: string) =>
    (await ledger("delivery", "resend-failed", "--webhook", webhook.id, "--since", since)).stdout

  it("sends everything again that failed since then, and nothing else", async () => {
    await testEvent()
    await served(1)
    receiver.answerNext(500, 500, 500, 500)
    const failed = [await testEvent(), await testEvent()]
    await served(4, ONE_RETRY)
    assert.strictEqual((await deliveries("--status", "failed")).length, 2)
    assert.include(await resendFailed("2999-01-01"), "Nothing that failed")
    assert.include(await resendFailed("2020-01-01T00:00:00+01:00"), "Sends 2 failed events")
    const again = await served(2)
    assert.sameMembers(
      again.map(({ headers }) => headers["webhook-id"]),
      failed.map(({ event_id }) => event_id)
    )
  })

  it("a time that is none is refused", async () => {
    const parameters = ["--webhook", webhook.id, "--since", "yesterday"]
    assert.strictEqual(await refusal("delivery", "resend-failed", ...parameters), "INVALID_REQUEST")
  })
})

const UNKNOWN_WEBHOOK = "whk_01h455vb4pex5vsknk084sn02q"

it.each([
  ["webhook", "update", UNKNOWN_WEBHOOK, "--enable"],
  ["webhook", "rotate", UNKNOWN_WEBHOOK],
  ["webhook", "test", UNKNOWN_WEBHOOK],
  ["delivery", "resend", "dlv_01h455vb4pex5vsknk084sn02q"],
  ["delivery", "resend-failed", "--webhook", UNKNOWN_WEBHOOK, "--since", "2026-11-20"]
])("what is not there is not found: ledger %s %s", async (...parameters) => {
  assert.strictEqual(await refusal(...parameters), "NOT_FOUND")
})

it.each([
  ["webhook", "update"],
  ["webhook", "rotate"],
  ["webhook", "test"],
  ["delivery", "list"],
  ["delivery", "show"],
  ["delivery", "resend"],
  ["delivery", "resend-failed"]
])("ledger %s %s --help has an example", async (group, command) => {
  const { stdout } = await ledger(group, command, "--help")
  assert.include(stdout, "EXAMPLES")
  assert.include(stdout, `ledger ${group} ${command} `)
})
