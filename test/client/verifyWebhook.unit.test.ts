// The receiver's helper against what the sender signs: genuine callbacks pass, everything else gets a
// reason and the status to answer with.
import { assert, describe, it } from "vitest"
import {
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookRefusalReason,
  type WebhookVerification
} from "../../src/webhookVerification.ts"
import { signCallback } from "../../src/workers/signature.ts"

const EVENT = {
  event: "commitment.state_changed",
  timestamp: "2026-11-20T10:00:00.000Z",
  workspace: { id: "00000000-0000-4000-8000-000000000000", name: "Grüße 🚀" },
  commitment: {
    id: "cmt_01h455vb4pex5vsknk084sn02q",
    memoryId: "",
    title: "Ship it",
    previousState: "open",
    currentState: "claimed",
    result: null,
    tier: null,
    evidence: [],
    createdAt: "2026-11-20T09:00:00.000Z",
    closedAt: null
  }
}
const BODY = JSON.stringify(EVENT)
const SECRET = "a secret of the workspace"

const sign = (body = BODY, secrets: ReadonlyArray<string> = [SECRET], age = 0) =>
  signCallback({
    body,
    secrets,
    webhookId: "evt_1",
    timestampSeconds: Math.floor(Date.now() / 1_000) - age
  })
const reasonOf = (verified: WebhookVerification) => (verified.ok ? "ok" : verified.reason)
const verify = async (
  headers: WebhookHeaders,
  options: VerifyOptions & { body?: string; secret?: string | ReadonlyArray<string> } = {}
) => reasonOf(await verifyWebhook(options.body ?? BODY, headers, options.secret ?? SECRET, options))

describe("a genuine callback", () => {
  it("gives its event and the key to deduplicate by", async () => {
    assert.deepEqual<unknown>(await verifyWebhook(BODY, sign(), SECRET), {
      ok: true,
      event: EVENT,
      dedupKey: "cmt_01h455vb4pex5vsknk084sn02q|commitment.state_changed|2026-11-20T10:00:00.000Z"
    })
  })

  it("may be given as text or bytes, with the headers of fetch or of Node", async () => {
    const bytes = Buffer.from(BODY)
    const framed = new Uint8Array(bytes.length + 4)
    framed.set(bytes, 2)
    const view = framed.subarray(2, -2)
    const bodies = [BODY, bytes, view, new Uint8Array(bytes), new Uint8Array(bytes).buffer]
    const lower = Object.fromEntries(
      Object.entries(sign()).map(([name, value]) => [name.toLowerCase(), value])
    )
    const several = { ...lower, "x-service-signature": [lower["x-service-signature"] ?? ""] }
    for (const body of bodies) {
      for (const headers of [sign(), lower, several, new Headers(sign())]) {
        for (const options of [{}, { toleranceSeconds: 300 }]) {
          assert.isTrue((await verifyWebhook(body, headers, SECRET, options)).ok)
        }
      }
    }
  })

  it.each([["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], ["whsec_no base64"], ["whsec_"], ["ü"]])(
    "is signed with %s as the sender does it",
    async (secret) => {
      const headers = sign(BODY, [secret])
      assert.strictEqual(await verify(headers, { secret }), "ok")
      assert.strictEqual(await verify(headers, { secret, toleranceSeconds: 1 }), "ok")
    }
  )

  it.each([
    ["the ledger rotates", ["new", "old"], "old"],
    ["the ledger rotates, and we have the new one", ["new", "old"], "new"],
    ["we rotate", ["old"], ["new", "old"]],
    ["both rotate", ["new", "old"], ["older", "old"]]
  ])("passes while %s", async (_case, signing, secret) => {
    const headers = sign(BODY, signing)
    assert.strictEqual(await verify(headers, { secret }), "ok")
    assert.strictEqual(await verify(headers, { secret, toleranceSeconds: 300 }), "ok")
  })
})

describe("a callback is refused", () => {
  const good = sign()
  const signature = good["X-Service-Signature"] ?? ""
  const rows: ReadonlyArray<
    [string, WebhookHeaders, Parameters<typeof verify>[1], WebhookRefusalReason]
  > = [
    ["no headers", {}, {}, "missing_signature"],
    ["an empty signature", { "X-Service-Signature": "" }, {}, "missing_signature"],
    ["no prefix", { "X-Service-Signature": signature.slice(7) }, {}, "missing_signature"],
    ["another hash", { "X-Service-Signature": "sha1=00" }, {}, "missing_signature"],
    ["a cut signature", { "X-Service-Signature": signature.slice(0, -1) }, {}, "missing_signature"],
    ["capitals", { "X-Service-Signature": signature.toUpperCase() }, {}, "missing_signature"],
    [
      "a digit that differs",
      { "X-Service-Signature": `sha256=${"0".repeat(64)}` },
      {},
      "wrong_signature"
    ],
    ["another secret", good, { secret: "another" }, "wrong_signature"],
    ["another body", good, { body: `${BODY} ` }, "wrong_signature"],
    ["the standard headers alone", { ...good, "X-Service-Signature": "" }, {}, "missing_signature"],
    [
      "the spec's header alone, with a tolerance",
      { "X-Service-Signature": signature },
      { toleranceSeconds: 300 },
      "missing_signature"
    ],
    [
      "a time that was changed",
      { ...good, "webhook-timestamp": "1700000000" },
      { toleranceSeconds: 300 },
      "wrong_signature"
    ],
    [
      "an id that was changed",
      { ...good, "webhook-id": "evt_2" },
      { toleranceSeconds: 300 },
      "wrong_signature"
    ],
    [
      "a time that is none",
      { ...good, "webhook-timestamp": "yesterday" },
      { toleranceSeconds: 300 },
      "missing_signature"
    ],
    ["an old callback", sign(BODY, [SECRET], 400), { toleranceSeconds: 300 }, "stale"],
    ["a callback of the future", sign(BODY, [SECRET], -400), { toleranceSeconds: 300 }, "stale"]
  ]
  it.each(rows)("with 401: %s", async (_name, headers, options, reason) => {
    const { body = BODY, secret = SECRET } = options ?? {}
    assert.deepInclude(await verifyWebhook(body, headers, secret, options), {
      ok: false,
      reason,
      status: 401
    })
  })

  const notEvents: ReadonlyArray<[string, WebhookRefusalReason, 204 | 400]> = [
    ["", "malformed_body", 400],
    ["null", "malformed_body", 400],
    ["[]", "malformed_body", 400],
    ["{bad", "malformed_body", 400],
    ["{}", "malformed_body", 400],
    ['{"event":"commitment.state_changed"}', "malformed_body", 400],
    ['{"event":"memory.captured"}', "unknown_event", 204]
  ]
  it.each(notEvents)("though genuine: %j", async (body, reason, status) => {
    const verified = await verifyWebhook(body, sign(body), SECRET)
    assert.deepInclude(verified, { ok: false, reason, status })
  })

  it("an old one passes when no tolerance was asked for: retries come hours later", async () => {
    assert.strictEqual(await verify(sign(BODY, [SECRET], 100_000)), "ok")
  })

  it.each([[""], [[]], [["good", ""]]])(
    "never for the lack of a secret: %j throws",
    async (secret) => {
      const outcome = await verifyWebhook(BODY, sign(), secret).catch((error) => error)
      assert.instanceOf(outcome, TypeError)
    }
  )
})
