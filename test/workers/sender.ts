// A sender for tests: the service's own, in a scope of its own.
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { LOOPBACK_ALLOWED } from "../../src/domain/receiverAddress.ts"
import {
  type AttemptOutcome,
  type AttemptRequest,
  type SenderOptions,
  WebhookSender
} from "../../src/workers/sendWebhook.ts"

export interface TestSender extends AsyncDisposable {
  readonly send: (request: Partial<AttemptRequest>, signal?: AbortSignal) => Promise<AttemptOutcome>
}

/** For attempts that are to end at their deadline; all others have time, however busy the machine is. */
export const SHORT_TIMEOUT_MILLISECONDS = 500
/** How much later than its deadline an attempt may be seen to end on a busy machine. */
export const LATENESS_MILLISECONDS = 1_500

export const startSender = async (options: Partial<SenderOptions> = {}): Promise<TestSender> => {
  const scope = Scope.makeUnsafe()
  const layer = WebhookSender.layer({
    timeout: "30 seconds",
    allow: LOOPBACK_ALLOWED,
    userAgent: "workspace-ledger/0.0.0-test",
    ...options
  })
  const services = await Effect.runPromise(Layer.buildWithScope(layer, scope))
  const { send } = Context.get(services, WebhookSender)
  return {
    send: (request, signal) =>
      Effect.runPromise(
        send({ url: "", body: "{}", headers: {}, ...request }),
        signal === undefined ? undefined : { signal }
      ),
    [Symbol.asyncDispose]: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
