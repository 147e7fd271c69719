// What an empty database is given at the first start, and what an unattended one is made sure to
// have: a workspace and an admin token for it.
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { InvalidRequest, ValidationError } from "./errors.ts"
import { canonicalUuid, Ids } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { orServerError } from "./store/failures.ts"
import { findTokens, insertToken } from "./store/tokens.ts"
import { countWorkspaces, insertWorkspace, lockFirstRun } from "./store/workspaces.ts"
import {
  generateToken,
  hashToken,
  isTokenShaped,
  makeTokenRecord,
  TOKEN_CHARACTERS
} from "./tokens.ts"

export interface Access {
  readonly workspaceId: string
  readonly token: string
}

const FIRST_LABEL = "admin"

/**
 * In one transaction: on a database without workspaces makes one with an admin token, and hands them
 * to `keep` before they are committed, so that no token is lost. Answers undefined when there is a
 * workspace already; of several replicas that start at once, one makes it.
 */
export const firstRun = Effect.fnUntraced(function* <E, R>(
  name: string,
  keep: (access: Access) => Effect.Effect<void, E, R>
) {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.gen(function* () {
    yield* lockFirstRun
    if ((yield* countWorkspaces) > 0) return undefined
    const now = yield* (yield* LedgerClock).now
    const access = { workspaceId: (yield* Ids).nextWorkspace(now), token: generateToken() }
    yield* insertWorkspace({ id: access.workspaceId, name, createdAt: now })
    yield* insertAdminToken(access, now)
    yield* keep(access)
    return access
  }).pipe(sql.withTransaction, orServerError)
})

/** Makes sure that this workspace and this admin token exist. Safe to repeat, and for replicas. */
export const ensureAccess = Effect.fnUntraced(function* (options: {
  readonly workspaceId: string
  readonly token: Redacted.Redacted
  readonly name: string
}) {
  const sql = yield* SqlClient.SqlClient
  const workspaceId = canonicalUuid(options.workspaceId)
  const token = Redacted.value(options.token)
  if (workspaceId === undefined) {
    return yield* new InvalidRequest({ message: "LEDGER_BOOTSTRAP_WORKSPACE must be a UUID." })
  }
  if (!isTokenShaped(token)) return yield* new InvalidRequest({ message: TOKEN_REFUSED })
  const access: Access = { workspaceId, token }
  const now = yield* (yield* LedgerClock).now
  yield* Effect.gen(function* () {
    yield* lockFirstRun
    yield* insertWorkspace({ id: workspaceId, name: options.name, createdAt: now })
    yield* insertAdminToken(access, now)
  }).pipe(sql.withTransaction, orServerError)
  const known = yield* isKnown(access)
  if (!known) return yield* new ValidationError({ message: TOKEN_TAKEN })
  return access
})

const TOKEN_REFUSED = `LEDGER_BOOTSTRAP_TOKEN must be ${TOKEN_CHARACTERS.least} to ${TOKEN_CHARACTERS.most} printable ASCII characters without spaces (and one that starts with wlt_ must be a token of this service).`
const TOKEN_TAKEN =
  "LEDGER_BOOTSTRAP_TOKEN was revoked, or belongs to another workspace: use a new one."

/** Whether the database has this token, for this workspace. */
export const isKnown = Effect.fnUntraced(function* (access: Access) {
  const tokens = yield* orServerError(findTokens([hashToken(access.token)]))
  return tokens.some((token) => token.workspaceId === access.workspaceId)
})

const insertAdminToken = Effect.fnUntraced(function* (access: Access, now: number) {
  const id = (yield* Ids).next("tok", now)
  yield* insertToken(makeTokenRecord({ ...access, id, label: FIRST_LABEL, role: "admin", now }))
})
