// Sends one request to one receiver, which may be slow, broken or hostile, and says how it went.
// Called for every attempt; it knows no delivery and no database.
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { type AllowList, refusedUrl } from "../domain/receiverAddress.ts"
import { guardedAgent, type Resolver } from "./guardedAgent.ts"
import { type Answer, type AttemptRequest, type Exchange, exchange } from "./receiverExchange.ts"

export type { AttemptRequest, FailureClass } from "./receiverExchange.ts"

export interface AttemptOutcome extends Answer {
  readonly startedAt: number
  readonly durationMillis: number
}

export interface SenderOptions {
  /** One deadline over name lookup, connection, TLS, headers and what is read of the body. */
  readonly timeout: Duration.Input
  readonly allow: AllowList
  /** Such as `workspace-ledger/1.0.0`. */
  readonly userAgent: string
  /** How names become addresses; the system's way if not given. */
  readonly resolve?: Resolver
  /** Certificate authorities to trust instead of the usual ones, as PEM. */
  readonly ca?: ReadonlyArray<string>
}

export class WebhookSender extends Context.Service<
  WebhookSender,
  {
    /** POSTs once, with `Content-Type` and `User-Agent` beside the given headers, and never fails: the outcome says what happened. Interrupting aborts the request. */
    readonly send: (request: AttemptRequest) => Effect.Effect<AttemptOutcome>
  }
>()("workspace-ledger/workers/WebhookSender") {
  static readonly layer = (options: SenderOptions) =>
    Layer.effect(
      WebhookSender,
      Effect.map(guardedAgent(options), (agent) =>
        WebhookSender.of({
          send: Effect.fnUntraced(function* (request) {
            const startedAt = yield* Clock.currentTimeMillis
            const start = yield* Clock.monotonicTimeNanos
            const refusal = refusedUrl(request.url, options.allow)
            const outcome =
              refusal === undefined
                ? yield* withDeadline(exchange(agent, withHeaders(request, options)), options)
                : { ...UNANSWERED, failure: "refused_address" as const, detail: refusal }
            const end = yield* Clock.monotonicTimeNanos
            return { startedAt, durationMillis: Number(end - start) / 1e6, ...outcome }
          })
        })
      )
    )
}

const UNANSWERED = { status: null, responseText: "" }

const withHeaders = (request: AttemptRequest, { userAgent }: SenderOptions): AttemptRequest => ({
  ...request,
  headers: {
    "Content-Type": "application/json",
    "User-Agent": userAgent,
    ...request.headers
  }
})

/** Sockets live in real time, also where a test moves the Clock by hours: so does the deadline. */
const REAL_CLOCK = Clock.Clock.defaultValue()

const withDeadline = ({ outcome, soFar }: Exchange, { timeout }: SenderOptions) =>
  outcome.pipe(
    Effect.timeoutOption(timeout),
    Effect.provideService(Clock.Clock, REAL_CLOCK),
    Effect.map(
      Option.getOrElse(() => ({
        ...soFar(),
        failure: "timeout" as const,
        detail: `no complete answer within ${Duration.format(Duration.fromInputUnsafe(timeout))}`
      }))
    )
  )
