// Who is asking: a token and the workspace it names become a Caller, or the reason why not. Tokens
// are looked up afresh each time, so that a revoked one ends at once on every replica; lookups that
// arrive together share one statement.
import { timingSafeEqual } from "node:crypto"
import { Context, Effect, Exit, Layer, Request, RequestResolver } from "effect"
import { SqlClient } from "effect/sql"
import { Forbidden, ServerError, Unauthorized } from "./errors.ts"
import { canonicalUuid } from "./ids.ts"
import { LedgerClock } from "./ledgerClock.ts"
import { orServerError } from "./store/failures.ts"
import { findTokens, saveLastUses, type TokenRecord, type TokenRole } from "./store/tokens.ts"
import { actorOf, hashToken, isTokenShaped } from "./tokens.ts"

export interface Caller {
  readonly workspaceId: string
  readonly tokenId: string
  readonly actor: string
  readonly role: TokenRole
}

interface FindToken extends Request.Request<TokenRecord | undefined, ServerError> {
  readonly _tag: "FindToken"
  readonly hash: Uint8Array
}
const FindToken = Request.tagged<FindToken>("FindToken")

const LAST_USE_INTERVAL = "10 seconds"

export class Authenticator extends Context.Service<
  Authenticator,
  {
    /** Who holds this token. «Missing or invalid: 401.» */
    readonly identify: (
      token: string | undefined
    ) => Effect.Effect<Caller, Unauthorized | ServerError>
    /** `identify`, and «no access to the workspace named in `X-Workspace-Id`: 403» (D13). */
    readonly authenticate: (
      token: string | undefined,
      workspaceId: string | undefined
    ) => Effect.Effect<Caller, Unauthorized | Forbidden | ServerError>
  }
>()("workspace-ledger/domain/Authenticator") {
  static readonly layer = Layer.effect(
    Authenticator,
    Effect.gen(function* () {
      const services = yield* Effect.context<SqlClient.SqlClient>()
      const clock = yield* LedgerClock
      const lastUses = yield* makeLastUses
      const resolver = RequestResolver.make<FindToken>((entries) =>
        findTokens(entries.map((entry) => entry.request.hash)).pipe(
          orServerError,
          Effect.map((tokens) =>
            entries.forEach(({ completeUnsafe, request }) => {
              completeUnsafe(Exit.succeed(tokens.find((token) => isSame(token.hash, request.hash))))
            })
          ),
          Effect.provideContext(services)
        )
      )

      const identify = Effect.fnUntraced(function* (token: string | undefined) {
        if (token === undefined) return yield* new Unauthorized({ message: TOKEN_MISSING })
        if (!isTokenShaped(token)) return yield* new Unauthorized({ message: TOKEN_INVALID })
        const record = yield* Effect.request(FindToken({ hash: hashToken(token) }), resolver)
        if (record === undefined) return yield* new Unauthorized({ message: TOKEN_INVALID })
        lastUses.note(record, yield* clock.now)
        const { id: tokenId, role, workspaceId } = record
        return { workspaceId, tokenId, actor: actorOf(record), role }
      })

      const authenticate = Effect.fnUntraced(function* (
        token: string | undefined,
        workspaceId: string | undefined
      ) {
        const caller = yield* identify(token)
        if (workspaceId === undefined) return yield* new Forbidden({ message: WORKSPACE_MISSING })
        if (canonicalUuid(workspaceId) !== caller.workspaceId) {
          return yield* new Forbidden({ message: WORKSPACE_FORBIDDEN })
        }
        return caller
      })
      return Authenticator.of({ identify, authenticate })
    })
  )
}

export const TOKEN_MISSING = "The header X-Proxy-Token is required."
const TOKEN_INVALID = "The API token is not valid."
const WORKSPACE_MISSING = "The header X-Workspace-Id is required and must name one workspace."
const WORKSPACE_FORBIDDEN = "The API token has no access to the workspace named in X-Workspace-Id."

const isSame = (one: Uint8Array, other: Uint8Array) =>
  one.length === other.length && timingSafeEqual(one, other)

/** «Last use recorded without a write per request»: kept here, written together now and then. */
const makeLastUses = Effect.gen(function* () {
  let uses = new Map<string, { readonly workspaceId: string; readonly time: number }>()
  const save = Effect.suspend(() => {
    if (uses.size === 0) return Effect.void
    const saved = uses
    uses = new Map()
    return saveLastUses(
      Array.from(saved, ([tokenId, { time, workspaceId }]) => ({ tokenId, workspaceId, time }))
    )
  }).pipe(Effect.catchCause((cause) => Effect.logDebug("Last uses were not saved", cause)))
  yield* Effect.addFinalizer(() => save)
  yield* save.pipe(Effect.delay(LAST_USE_INTERVAL), Effect.forever, Effect.forkScoped)
  return {
    note: (token: TokenRecord, time: number) => {
      uses.set(token.id, { workspaceId: token.workspaceId, time })
    }
  }
})
