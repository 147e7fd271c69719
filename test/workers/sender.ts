// A sender for tests: the service's own, in a scope of its own, with short deadlines.
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

export const TIMEOUT_MILLISECONDS = 400

export const startSender = async (options: Partial<SenderOptions> = {}): Promise<TestSender> => {
  const scope = Scope.makeUnsafe()
  const layer = WebhookSender.layer({
    timeout: TIMEOUT_MILLISECONDS,
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
