// Sends one request to one receiver, which may be slow, broken or hostile, and says how it went.
// Called for every attempt; it knows no delivery and no database.
import { Context, Duration, Effect, Layer } from "effect"
import type { Agent } from "undici"
import { type AllowList, refusedUrl } from "../domain/receiverAddress.ts"
import { guardedAgent, type Resolver } from "./guardedAgent.ts"
import { type Answer, type AttemptRequest, type Destination, exchange } from "./receiverExchange.ts"
import { remembered } from "./remembered.ts"

export type { AttemptRequest, FailureClass } from "./receiverExchange.ts"

export interface AttemptOutcome extends Answer {
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
      Effect.map(guardedAgent(options), (agent) => makeSender(agent, options))
    )
}

const makeSender = (agent: Agent, options: SenderOptions): WebhookSender["Service"] => {
  const timeoutMillis = Duration.toMillis(Duration.fromInputUnsafe(options.timeout))
  const vet = remembered((url: string) => vetUrl(url, options.allow))
  const post = ({ body, headers, url }: AttemptRequest): Effect.Effect<Answer> => {
    const vetted = vet(url)
    if ("refusal" in vetted) return Effect.succeed(refused(vetted.refusal))
    const allHeaders = {
      "Content-Type": "application/json",
      "User-Agent": options.userAgent,
      ...headers
    }
    return exchange(agent, vetted, { body, headers: allHeaders }, timeoutMillis)
  }
  return {
    send: (request) =>
      Effect.suspend(() => {
        const start = performance.now()
        return Effect.map(post(request), (answer) => ({
          ...answer,
          durationMillis: performance.now() - start
        }))
      })
  }
}

/** Where a URL leads, or why it may not be sent to: its form, and its host if that is an address. */
const vetUrl = (url: string, allow: AllowList): Destination | { readonly refusal: string } => {
  const refusal = refusedUrl(url, allow)
  if (refusal !== undefined) return { refusal }
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search }
}

const refused = (refusal: string): Answer => ({
  status: null,
  failure: "refused_address",
  responseText: "",
  detail: refusal
})
