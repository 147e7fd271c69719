// The receiver's half of the webhooks: is this callback the ledger's, and what does it say? Exported
// by client.ts for other programs; it needs Web Crypto and nothing else.
import type { CloseResult, CommitmentState } from "./domain/vocabulary.ts"

/** «The only event type is `commitment.state_changed`.» */
export interface CommitmentStateChanged {
  readonly event: "commitment.state_changed"
  /** ISO 8601 time of the event. */
  readonly timestamp: string
  readonly workspace: { readonly id: string; readonly name: string }
  readonly commitment: {
    readonly id: string
    /** The source memory, or empty. */
    readonly memoryId: string
    readonly title: string
    readonly previousState: CommitmentState
    readonly currentState: CommitmentState
    readonly result: CloseResult | null
    readonly tier: "T1" | "T2" | "T3" | null
    /** All evidence at the time of the event. */
    readonly evidence: ReadonlyArray<WebhookEvidence>
    readonly createdAt: string
    readonly closedAt: string | null
  }
}

export interface WebhookEvidence {
  readonly type: string
  readonly label?: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly capturedAt: string
}

export type WebhookEvent = CommitmentStateChanged

/**
 * Why a callback is refused:
 * - `missing_signature`: it carries no signature header of the expected form;
 * - `wrong_signature`: none of its signatures is made of this body and one of these secrets;
 * - `stale`: it was signed longer ago, or further in the future, than the tolerance;
 * - `unknown_event`: it is genuine, but of an event type that this version of the client does not know;
 * - `malformed_body`: it is genuine, but not an event.
 */
export type WebhookRefusalReason =
  | "missing_signature"
  | "wrong_signature"
  | "stale"
  | "unknown_event"
  | "malformed_body"

export type WebhookVerification =
  | {
      readonly ok: true
      readonly event: WebhookEvent
      /**
       * The same on every attempt of one event, and different for every other: remember it, and do
       * nothing for a callback whose key is known. «Commitment id, event and timestamp combined.»
       */
      readonly dedupKey: string
    }
  | {
      readonly ok: false
      readonly reason: WebhookRefusalReason
      readonly message: string
      /** What to answer: 401 for a wrong signature, as the spec says, 204 for what may be ignored. */
      readonly status: 401 | 400 | 204
    }

export interface VerifyOptions {
  /**
   * Refuse what was signed longer ago than this: an old callback that somebody sends again. It takes
   * the `webhook-signature` header, because the spec's covers the body only. 300 is usual.
   */
  readonly toleranceSeconds?: number
}

/** As fetch has them, or as Node has them. */
export type WebhookHeaders =
  | Headers
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/**
 * Verifies a callback and parses it. Pass the body exactly as it was received, not parsed and written
 * again. Several secrets may be given while yours is being rotated. Rejects only if there is no secret.
 *
 *     const verified = await verifyWebhook(rawBody, request.headers, secret)
 *     if (!verified.ok) return respond(verified.status, verified.message)
 *     if (await isKnown(verified.dedupKey)) return respond(204)
 */
export const verifyWebhook = async (
  rawBody: string | ArrayBuffer | Uint8Array,
  headers: WebhookHeaders,
  secret: string | ReadonlyArray<string>,
  options: VerifyOptions = {}
): Promise<WebhookVerification> => {
  const secrets = typeof secret === "string" ? [secret] : secret
  if (secrets.length === 0 || secrets.includes("")) throw new TypeError("A secret must be given.")
  const body = toBytes(rawBody)
  const { toleranceSeconds } = options
  const refusal =
    toleranceSeconds === undefined
      ? await checkServiceSignature(body, headers, secrets)
      : await checkStandardSignature(body, headers, secrets, toleranceSeconds)
  return refusal ?? parseEvent(new TextDecoder().decode(body))
}

type Refusal = WebhookVerification & { readonly ok: false }

const refuse = (
  reason: WebhookRefusalReason,
  message: string,
  status: Refusal["status"]
): Refusal => ({ ok: false, reason, message, status })

const WRONG = refuse("wrong_signature", "The signature is not made of this body and secret.", 401)

/** While two secrets of the ledger overlap, the second header is signed with the older one. */
const SERVICE_HEADERS = ["x-service-signature", "x-service-signature-previous"]

const checkServiceSignature = async (
  body: Bytes,
  headers: WebhookHeaders,
  secrets: ReadonlyArray<string>
) => {
  const signatures = SERVICE_HEADERS.flatMap((name) => {
    const digest = /^sha256=([0-9a-f]{64})$/.exec(headerOf(headers, name))?.[1]
    return digest === undefined ? [] : [bytesOfHex(digest)]
  })
  if (signatures.length === 0) {
    return refuse("missing_signature", "X-Service-Signature must be sha256=<64 hex digits>.", 401)
  }
  const keys = secrets.map((secret) => toBytes(secret))
  return (await isSigned(body, signatures, keys)) ? undefined : WRONG
}

/** Standard Webhooks: the id and the time of the attempt are signed together with the body. */
const checkStandardSignature = async (
  body: Bytes,
  headers: WebhookHeaders,
  secrets: ReadonlyArray<string>,
  toleranceSeconds: number
) => {
  const id = headerOf(headers, "webhook-id")
  const timestamp = headerOf(headers, "webhook-timestamp")
  const signatures = headerOf(headers, "webhook-signature")
    .split(" ")
    .flatMap((each) => (/^v1,[A-Za-z0-9+/]{43}=$/.test(each) ? [bytesOfBase64(each.slice(3))] : []))
  if (id === "" || !/^\d{1,12}$/.test(timestamp) || signatures.length === 0) {
    return refuse(
      "missing_signature",
      "webhook-id, webhook-timestamp and webhook-signature must be given.",
      401
    )
  }
  const content = joined(toBytes(`${id}.${timestamp}.`), body)
  if (!(await isSigned(content, signatures, secrets.map(standardKey)))) return WRONG
  const ageSeconds = Date.now() / 1_000 - Number(timestamp)
  return Math.abs(ageSeconds) <= toleranceSeconds
    ? undefined
    : refuse("stale", `Signed ${Math.round(ageSeconds)} seconds ago.`, 401)
}

/** Web Crypto compares in constant time; every pair is tried, whichever fits. */
const isSigned = async (
  content: Bytes,
  signatures: ReadonlyArray<Bytes>,
  keys: ReadonlyArray<Bytes>
): Promise<boolean> => {
  const checks = keys.flatMap((key) =>
    signatures.map(async (signature) => {
      const algorithm = { name: "HMAC", hash: "SHA-256" }
      const imported = await crypto.subtle.importKey("raw", key, algorithm, false, ["verify"])
      return crypto.subtle.verify("HMAC", imported, signature, content)
    })
  )
  return (await Promise.all(checks)).includes(true)
}

/** Only a whole `whsec_` secret is decoded, as the sender does it; any other text is the key itself. */
const ENCODED_SECRET =
  /^whsec_(?=.)((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/

const standardKey = (secret: string): Bytes => {
  const encoded = ENCODED_SECRET.exec(secret)?.[1]
  return encoded === undefined ? toBytes(secret) : bytesOfBase64(encoded)
}

const parseEvent = (text: string): WebhookVerification => {
  const parsed = parseJson(text)
  if (!isRecord(parsed) || typeof parsed.event !== "string") return malformed
  if (parsed.event !== "commitment.state_changed") {
    return refuse("unknown_event", `"${parsed.event}" is not known to this client.`, 204)
  }
  if (!isStateChange(parsed)) return malformed
  const dedupKey = `${parsed.commitment.id}|${parsed.event}|${parsed.timestamp}`
  return { ok: true, event: parsed, dedupKey }
}

const malformed = refuse("malformed_body", "The body is not an event of the ledger.", 400)

/** The fields that the dedup key and every receiver need; the rest is the sender's word. */
const isStateChange = (value: object): value is CommitmentStateChanged => {
  const { commitment, timestamp, workspace } = value as Record<string, unknown>
  return (
    typeof timestamp === "string" &&
    isRecord(workspace) &&
    typeof workspace.id === "string" &&
    isRecord(commitment) &&
    typeof commitment.id === "string" &&
    typeof commitment.currentState === "string"
  )
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What Web Crypto takes: bytes that are not shared with another thread. */
type Bytes = Uint8Array<ArrayBuffer>

const toBytes = (data: string | ArrayBuffer | Uint8Array): Bytes =>
  typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data)

const bytesOfHex = (hex: string): Bytes =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))

const bytesOfBase64 = (base64: string): Bytes =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

const joined = (first: Bytes, second: Bytes): Bytes => {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}

const headerOf = (headers: WebhookHeaders, name: string): string => {
  if (isFetchHeaders(headers)) return headers.get(name) ?? ""
  const key = Object.keys(headers).find((key) => key.toLowerCase() === name)
  const value = key === undefined ? "" : headers[key]
  return (typeof value === "string" ? value : (value?.[0] ?? "")).trim()
}

/** Not `instanceof`: frameworks bring Headers of their own. */
const isFetchHeaders = (headers: WebhookHeaders): headers is Headers =>
  typeof headers.get === "function"
