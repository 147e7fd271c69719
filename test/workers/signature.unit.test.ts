// The signature headers, against values that other programs computed.
import { createHmac } from "node:crypto"
import { assert, describe, it } from "vitest"
import { signCallback } from "../../src/workers/signature.ts"

const sign = (secrets: ReadonlyArray<string>, body = '{"test": 2432232314}') =>
  signCallback({
    body,
    secrets,
    webhookId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    timestampSeconds: 1_614_265_330
  })

describe("X-Service-Signature", () => {
  it("is RFC 4231's test case 2", () => {
    assert.strictEqual(
      sign(["Jefe"], "what do ya want for nothing?")["X-Service-Signature"],
      "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )
  })

  it("is over the UTF-8 bytes of the body, with the secret as it is", () => {
    const digest = createHmac("sha256", "whsec_Grüße")
      .update(Buffer.from('{"a":"🚀"}'))
      .digest("hex")
    const headers = sign(["whsec_Grüße"], '{"a":"🚀"}')
    assert.strictEqual(headers["X-Service-Signature"], `sha256=${digest}`)
    assert.notProperty(headers, "X-Service-Signature-Previous")
  })

  it("stays the current secret's during an overlap; the older one's is beside it", () => {
    const headers = sign(["new", "old"])
    assert.strictEqual(headers["X-Service-Signature"], sign(["new"])["X-Service-Signature"])
    assert.strictEqual(
      headers["X-Service-Signature-Previous"],
      sign(["old"])["X-Service-Signature"]
    )
  })
})

describe("Standard Webhooks", () => {
  it("is what the libraries of svix expect", () => {
    const headers = sign(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    assert.strictEqual(headers["webhook-id"], "msg_p5jXN8AQM9LWM0D4loKWxJek")
    assert.strictEqual(headers["webhook-timestamp"], "1614265330")
    assert.strictEqual(
      headers["webhook-signature"],
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
  })

  it("takes any other secret as its raw bytes", () => {
    for (const secret of ["a plain secret", "whsec_", "whsec_not base64", "whsec_abc"]) {
      const digest = createHmac("sha256", secret)
        .update('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}')
        .digest("base64")
      assert.strictEqual(sign([secret])["webhook-signature"], `v1,${digest}`)
    }
  })

  it("has both signatures during an overlap, the current one first", () => {
    const [current, previous] = [sign(["new"]), sign(["old"])]
    assert.strictEqual(
      sign(["new", "old"])["webhook-signature"],
      `${current["webhook-signature"]} ${previous["webhook-signature"]}`
    )
  })
})
