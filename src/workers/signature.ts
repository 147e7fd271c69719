// Pure: the headers that prove where a callback comes from. Called for every attempt, because the
// time of the attempt is signed too; src/webhookVerification.ts is its counterpart at the receiver.
import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import { remembered } from "./remembered.ts"

/** A secret that the Standard Webhooks libraries decode before they use it as a key. */
const ENCODED_SECRET =
  /^whsec_(?=.)((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/

/**
 * `X-Service-Signature` is the spec's: «the HMAC-SHA256 of the raw request body, using the webhook
 * secret as key», so it carries one value, of the current secret. While an older secret overlaps,
 * `X-Service-Signature-Previous` carries the same for that one: a list in the spec's header would
 * fail every receiver that compares it as the spec says. `webhook-signature` is made for several.
 */
export const signCallback = (options: {
  readonly body: string
  /** The current one first, then the one that it replaces, while they overlap. */
  readonly secrets: ReadonlyArray<string>
  /** The same on every attempt. */
  readonly webhookId: string
  readonly timestampSeconds: number
}): Record<string, string> => {
  const { body, secrets, timestampSeconds, webhookId } = options
  const [current = "", previous] = secrets
  const content = `${webhookId}.${timestampSeconds}.${body}`
  return {
    "X-Service-Signature": serviceSignature(body, current),
    ...(previous === undefined
      ? {}
      : { "X-Service-Signature-Previous": serviceSignature(body, previous) }),
    "webhook-id": webhookId,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": secrets.map((secret) => standardSignature(content, secret)).join(" ")
  }
}

const serviceSignature = (body: string, secret: string) =>
  `sha256=${createHmac("sha256", keysOf(secret).service).update(body, "utf8").digest("hex")}`

const standardSignature = (content: string, secret: string) =>
  `v1,${createHmac("sha256", keysOf(secret).standard).update(content, "utf8").digest("base64")}`

/** The secret as the key of either signature. */
const keysOf = remembered(
  (secret): { readonly service: KeyObject; readonly standard: KeyObject } => {
    const encoded = ENCODED_SECRET.exec(secret)?.[1]
    const service = createSecretKey(secret, "utf8")
    return {
      service,
      standard: encoded === undefined ? service : createSecretKey(encoded, "base64")
    }
  }
)
