// Table tokens: who may use a workspace. A token itself is nowhere; only its SHA-256 is.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { binaries, millisecondsOrNull, texts, time, times } from "./columns.ts"

export type TokenRole = "admin" | "member"

export interface TokenRecord {
  readonly workspaceId: string
  readonly id: string
  readonly hash: Uint8Array
  /** The token's first characters, by which people tell tokens apart. */
  readonly prefix: string
  readonly label: string | null
  readonly role: TokenRole
  readonly createdAt: number
  readonly lastUsedAt: number | null
  readonly revokedAt: number | null
}

interface TokenRow {
  readonly workspace_id: string
  readonly id: string
  readonly hash: Uint8Array
  readonly prefix: string
  readonly label: string | null
  readonly role: TokenRole
  readonly created_at: Date
  readonly last_used_at: Date | null
  readonly revoked_at: Date | null
}

const toToken = (row: TokenRow): TokenRecord => ({
  workspaceId: row.workspace_id,
  id: row.id,
  hash: row.hash,
  prefix: row.prefix,
  label: row.label,
  role: row.role,
  createdAt: row.created_at.getTime(),
  lastUsedAt: millisecondsOrNull(row.last_used_at),
  revokedAt: millisecondsOrNull(row.revoked_at)
})

/** The tokens with these hashes, revoked ones left out. */
export const findTokens = Effect.fnUntraced(function* (hashes: ReadonlyArray<Uint8Array>) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<TokenRow>`
    select * from tokens where hash = any(${binaries(hashes)}) and revoked_at is null`
  return rows.map(toToken)
})

export const listTokens = Effect.fnUntraced(function* (workspaceId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<TokenRow>`
    select * from tokens where workspace_id = ${workspaceId}::uuid order by created_at, id`
  return rows.map(toToken)
})

/** Answers whether the token was new: a hash is never given twice. */
export const insertToken = Effect.fnUntraced(function* (token: TokenRecord) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    insert into tokens (workspace_id, id, hash, prefix, label, role, created_at)
    values (${token.workspaceId}::uuid, ${token.id}, ${token.hash}, ${token.prefix},
      ${token.label}, ${token.role}, ${time(token.createdAt)})
    on conflict (hash) do nothing
    returning id`
  return rows.length > 0
})

/** Answers whether there was such a token that was not revoked yet. */
export const revokeToken = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string,
  now: number
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    update tokens set revoked_at = ${time(now)}
    where workspace_id = ${workspaceId}::uuid and id = ${id} and revoked_at is null
    returning id`
  return rows.length > 0
})

/** Records many last uses in one statement, in id order so that two replicas cannot deadlock. */
export const saveLastUses = Effect.fnUntraced(function* (
  uses: ReadonlyArray<{
    readonly workspaceId: string
    readonly tokenId: string
    readonly time: number
  }>
) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    with used as (
      select workspace_id::uuid, id, time
      from unnest(
        ${texts(uses.map((use) => use.workspaceId))},
        ${texts(uses.map((use) => use.tokenId))},
        ${times(uses.map((use) => use.time))}
      ) as used (workspace_id, id, time)
    ), locked as materialized (
      select workspace_id, id, time from tokens join used using (workspace_id, id)
      order by workspace_id, id for no key update of tokens
    )
    update tokens set last_used_at = greatest(tokens.last_used_at, locked.time)
    from locked
    where tokens.workspace_id = locked.workspace_id and tokens.id = locked.id`
})
