// Tokens: how they are made, recognised and checked. A token has a prefix that secret scanners know
// it by and a checksum that tells a typing error without a look into the database.
import { createHash, randomBytes } from "node:crypto"
import { crc32 } from "node:zlib"
import type { TokenRecord, TokenRole } from "./store/tokens.ts"

const PREFIX = "wlt_"
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
const SECRET_BYTES = 24
const SECRET_CHARACTERS = 33
const CHECKSUM_CHARACTERS = 6
/** How much of a token people are shown. */
const SHOWN_CHARACTERS = 10

const base62 = (value: bigint, length: number): string => {
  let rest = value
  let text = ""
  for (let index = 0; index < length; index++) {
    text = BASE62.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}

const checksum = (secret: string) => base62(BigInt(crc32(secret)), CHECKSUM_CHARACTERS)

/** A new token: `wlt_`, 192 random bits and a checksum, all in base 62. */
export const generateToken = (): string => {
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString("hex")}`), SECRET_CHARACTERS)
  return `${PREFIX}${secret}${checksum(secret)}`
}

/** Tokens given at bootstrap may be any text this long; ours also carry a checksum that must fit. */
export const TOKEN_CHARACTERS = { least: 32, most: 512 } as const

/** Whether the text can be a token at all. */
export const isTokenShaped = (token: string): boolean => {
  if (token.length < TOKEN_CHARACTERS.least || token.length > TOKEN_CHARACTERS.most) return false
  if (!/^[\x21-\x7e]+$/.test(token)) return false
  if (!token.startsWith(PREFIX)) return true
  const secret = token.slice(PREFIX.length, -CHECKSUM_CHARACTERS)
  return token.slice(-CHECKSUM_CHARACTERS) === checksum(secret)
}

export const hashToken = (token: string): Uint8Array => createHash("sha256").update(token).digest()

/** What is stored of a token. */
export const makeTokenRecord = (options: {
  readonly workspaceId: string
  readonly id: string
  readonly token: string
  readonly label: string | null
  readonly role: TokenRole
  readonly now: number
}): TokenRecord => ({
  workspaceId: options.workspaceId,
  id: options.id,
  hash: hashToken(options.token),
  prefix: options.token.slice(0, SHOWN_CHARACTERS),
  label: options.label,
  role: options.role,
  createdAt: options.now,
  lastUsedAt: null,
  revokedAt: null
})

/** «The label given when the token was issued, else `token:<prefix>`» (D21). */
export const actorOf = (token: Pick<TokenRecord, "label" | "prefix">): string =>
  token.label ?? `token:${token.prefix}`
