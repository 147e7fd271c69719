// The typed client that other programs import as `workspace-ledger/client`: tRPC over HTTP with the
// service's own types, so that an incomplete operation does not compile. Receivers of webhooks find
// their helper here too.
import {
  createTRPCClient,
  httpLink,
  retryLink,
  type TRPCClient,
  TRPCClientError
} from "@trpc/client"
import type { ErrorCode } from "./domain/errors.ts"
import type { AppRouter } from "./rpc/router.ts"

export type { ErrorCode } from "./domain/errors.ts"
export type { OperationInput, OperationName } from "./domain/operations.ts"
export type {
  Commitment,
  CommitmentListItem,
  Evidence,
  Memory,
  MemoryListItem,
  OperationReceipt,
  StatusSnapshot
} from "./domain/vocabulary.ts"
export type { AppRouter } from "./rpc/router.ts"
export {
  type CommitmentStateChanged,
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookEvidence,
  type WebhookHeaders,
  type WebhookRefusalReason,
  type WebhookVerification
} from "./webhookVerification.ts"

export interface LedgerClientOptions {
  /** Where the service listens, such as `https://127.0.0.1:8443`. */
  readonly baseUrl: string
  readonly token: string
  readonly workspaceId: string
  /**
   * The certificate authority to trust beside the usual ones, as PEM text or as the path of a PEM
   * file: `caFile` of `credentials.json` for the local certificate. For this client only. Node only.
   */
  readonly ca?: string | null
  /** Another fetch to send requests with; `ca` is then its own affair. */
  readonly fetch?: typeof fetch
  /** Try again after 1, 2 and 4 seconds what the service answered with 500 to. Default true. */
  readonly retry?: boolean
}

export type LedgerClient = TRPCClient<AppRouter>
/** A refusal of the service; `error.data.code` is the spec's error code. */
export type LedgerClientError = TRPCClientError<AppRouter>

/** Whether something that was thrown is a refusal of the service, of the given code if one is given. */
export const isLedgerError = (error: unknown, code?: ErrorCode): error is LedgerClientError =>
  error instanceof TRPCClientError &&
  (code === undefined || (error as LedgerClientError).data?.code === code)

const RETRIES = 3

/**
 * A client of one workspace: `client.ops.mutate({ op: "claim", id, owner })`,
 * `client.commitments.list.query({ state: "open" })`, `client.settings.tokens.list.query()`.
 * To repeat an operation safely: `mutate(operation, { context: { idempotencyKey } })`.
 */
export const createLedgerClient = (options: LedgerClientOptions): LedgerClient =>
  createTRPCClient<AppRouter>({
    links: [
      retryLink({
        // A 500 says that nothing was performed, so that trying again is safe.
        retry: ({ attempts, error }) =>
          (options.retry ?? true) && attempts <= RETRIES && error.data?.code === "SERVER_ERROR",
        retryDelayMs: (attempt) => 1000 * 2 ** (attempt - 1)
      }),
      httpLink({
        url: `${options.baseUrl.replace(/\/+$/, "")}/trpc`,
        headers: ({ op }) => ({
          "X-Proxy-Token": options.token,
          "X-Workspace-Id": options.workspaceId,
          ...idempotencyHeader(op.context)
        }),
        fetch: chooseFetch(options)
      })
    ]
  })

const idempotencyHeader = ({ idempotencyKey }: Record<string, unknown>) =>
  typeof idempotencyKey === "string" ? { "Idempotency-Key": idempotencyKey } : {}

/** What tRPC's link wants of a fetch; the fetches of Node and of undici differ only in their types. */
type LinkFetch = NonNullable<Parameters<typeof httpLink<AppRouter>>[0]["fetch"]>

const chooseFetch = ({ ca, fetch: given }: LedgerClientOptions): LinkFetch => {
  if (given !== undefined) return given as LinkFetch
  return typeof ca === "string" ? fetchTrusting(ca) : (fetch as LinkFetch)
}

/** A fetch with its own dispatcher; loaded when first used, because browsers have none of this. */
const fetchTrusting = (ca: string): LinkFetch => {
  let prepared: Promise<LinkFetch> | undefined
  return async (input, init) => {
    prepared ??= prepareFetch(ca)
    return (await prepared)(input, init)
  }
}

const prepareFetch = async (ca: string): Promise<LinkFetch> => {
  const { readFile } = await import("node:fs/promises")
  const { rootCertificates } = await import("node:tls")
  const undici = await import("undici")
  const pem = ca.includes("-----BEGIN") ? ca : await readFile(ca, "utf8")
  const dispatcher = new undici.Agent({ connect: { ca: [...rootCertificates, pem] } })
  const send = undici.fetch as unknown as (input: unknown, init: object) => ReturnType<LinkFetch>
  return (input, init) => send(input, { ...init, dispatcher })
}
