// Workspace settings: workspaces and their tokens (D25). Administrators reach them through tRPC,
// operators through the command line; none of this is on the spec's REST paths.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidRequest, NotFound, type ServerError } from "./errors.ts"
import { canonicalUuid, Ids, isTokenId } from "./ids.ts"
import { jsonProblem } from "./jsonValue.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { characterCount, LIMITS, quote } from "./limits.ts"
import { orServerError } from "./store/failures.ts"
import * as Tokens from "./store/tokens.ts"
import * as Workspaces from "./store/workspaces.ts"
import { toIso, toIsoOrNull } from "./time.ts"
import { actorOf, generateToken, makeTokenRecord } from "./tokens.ts"

export interface WorkspaceView {
  readonly id: string
  readonly name: string
  readonly created_at: string
}

export interface TokenView {
  readonly id: string
  readonly prefix: string
  readonly label: string | null
  readonly actor: string
  readonly role: Tokens.TokenRole
  readonly created_at: string
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

/** A token as it is issued: the only time that it is shown. */
export interface IssuedToken extends TokenView {
  readonly token: string
}

const workspaceView = (workspace: Workspaces.Workspace): WorkspaceView => ({
  id: workspace.id,
  name: workspace.name,
  created_at: toIso(workspace.createdAt)
})

const tokenView = (token: Tokens.TokenRecord): TokenView => ({
  id: token.id,
  prefix: token.prefix,
  label: token.label,
  actor: actorOf(token),
  role: token.role,
  created_at: toIso(token.createdAt),
  last_used_at: toIsoOrNull(token.lastUsedAt),
  revoked_at: toIsoOrNull(token.revokedAt)
})

export const listWorkspaces: Effect.Effect<
  ReadonlyArray<WorkspaceView>,
  ServerError,
  SqlClient.SqlClient
> = Workspaces.listWorkspaces.pipe(
  orServerError,
  Effect.map((workspaces) => workspaces.map(workspaceView))
)

/** Fails with `NOT_FOUND` when there is no such workspace. */
export const getWorkspace = Effect.fnUntraced(function* (id: string) {
  const known = canonicalUuid(id)
  const workspace =
    known === undefined ? undefined : yield* orServerError(Workspaces.readWorkspace(known))
  if (workspace === undefined) {
    return yield* new NotFound({ message: `Workspace ${quote(id)} does not exist.` })
  }
  return workspaceView(workspace)
})

/** Makes a workspace and its first token, an admin one, in one transaction. */
export const createWorkspace = Effect.fnUntraced(function* (
  name: string,
  label: string | null = null
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* (yield* LedgerClock).now
  const id = (yield* Ids).nextWorkspace(now)
  const workspace = { id, name: yield* shortName("name", name), createdAt: now }
  return yield* Effect.gen(function* () {
    yield* Workspaces.insertWorkspace(workspace)
    const token = yield* storeToken({ workspaceId: id, label, role: "admin" })
    return { workspace: workspaceView(workspace), token }
  }).pipe(sql.withTransaction, orServerError)
})

export const renameWorkspace = Effect.fnUntraced(function* (id: string, name: string) {
  yield* orServerError(Workspaces.renameWorkspace(id, yield* shortName("name", name)))
  return yield* getWorkspace(id)
})

/** A new token for the workspace. Its label is the actor of what is done with it (D21). */
export const issueToken = Effect.fnUntraced(function* (
  workspaceId: string,
  options: { readonly label: string | null; readonly role: Tokens.TokenRole }
) {
  const workspace = yield* getWorkspace(workspaceId)
  const label = options.label === null ? null : yield* shortName("label", options.label)
  return yield* orServerError(storeToken({ workspaceId: workspace.id, label, role: options.role }))
})

const storeToken = Effect.fnUntraced(function* (options: {
  readonly workspaceId: string
  readonly label: string | null
  readonly role: Tokens.TokenRole
}) {
  const now = yield* (yield* LedgerClock).now
  const token = generateToken()
  const id = (yield* Ids).next("tok", now)
  const record = makeTokenRecord({ ...options, id, token, now })
  yield* Tokens.insertToken(record)
  return { ...tokenView(record), token } satisfies IssuedToken
})

export const listTokens = Effect.fnUntraced(function* (workspaceId: string) {
  const workspace = yield* getWorkspace(workspaceId)
  const tokens = yield* orServerError(Tokens.listTokens(workspace.id))
  return tokens.map(tokenView)
})

/** The token is refused from now on, on every replica. */
export const revokeToken = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const workspace = yield* getWorkspace(workspaceId)
  const now = yield* (yield* LedgerClock).now
  const revoked = isTokenId(id) && (yield* orServerError(Tokens.revokeToken(workspace.id, id, now)))
  if (!revoked) {
    return yield* new NotFound({ message: `There is no active token ${quote(id)}.` })
  }
})

/** A name or label: one line that says something, and short enough for an actor. */
const shortName = (field: string, name: string): Effect.Effect<string, InvalidRequest> => {
  const trimmed = name.trim()
  const fits =
    trimmed !== "" &&
    characterCount(trimmed) <= LIMITS.shortTextCharacters &&
    jsonProblem(trimmed) === undefined &&
    !/\p{Cc}/u.test(trimmed)
  if (fits) return Effect.succeed(trimmed)
  const message = `The field "${field}" must be one line of 1 to ${LIMITS.shortTextCharacters} characters.`
  return Effect.fail(new InvalidRequest({ message }))
}
