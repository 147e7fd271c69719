// What bad neighbours cost: ten webhooks, of which five never answer, against the other five alone, on
// a service that makes one move after another.
import { Effect } from "effect"
import type { BenchError } from "../processes.ts"
import { fetchText, headersOf, type LedgerSubject } from "../subjects.ts"
import { measureArrivals, type Quantiles, quantilesOf } from "./latency.ts"
import { HANGING_PATH } from "./messages.ts"
import type { Receiver } from "./receiverProcess.ts"
import { registerWebhook } from "./senders.ts"

export interface Neighbours {
  /** From before the request of a move to the arrival at a healthy endpoint, nobody hanging. */
  readonly alone: Quantiles
  /** The same while as many endpoints never answer. */
  readonly beside: Quantiles
  readonly healthy: number
  readonly hanging: number
}

const EACH = 5
const TURNS = 3

export const measureNeighbours = Effect.fnUntraced(function* (
  ledger: LedgerSubject,
  receiver: Receiver,
  options: { readonly workspace: number; readonly moves: number; readonly secret: string }
) {
  const { moves, secret, workspace } = options
  const register = (path: string) =>
    registerWebhook(ledger, workspace, `${receiver.baseUrl}${path}`, secret)
  const indices = Array.from({ length: EACH }, (_, index) => index)
  yield* Effect.forEach(indices, (index) => register(`/healthy/${index}`))
  const hanging = yield* Effect.forEach(indices, (index) => register(`${HANGING_PATH}${index}`))
  const enable = (enabled: boolean) =>
    Effect.forEach(hanging, (id) => changeWebhook(ledger, workspace, { id, enabled }))
  const measure = measureArrivals(ledger, receiver, { moves, callbacks: EACH, workspace })

  const alone: Array<number> = []
  const beside: Array<number> = []
  for (let turn = 0; turn < TURNS; turn++) {
    yield* enable(false)
    alone.push(...(yield* measure).arrivals.map(({ fromRequest }) => fromRequest))
    yield* enable(true)
    beside.push(...(yield* measure).arrivals.map(({ fromRequest }) => fromRequest))
  }
  return {
    alone: quantilesOf(alone),
    beside: quantilesOf(beside),
    healthy: EACH,
    hanging: EACH
  } satisfies Neighbours
})

const changeWebhook = (
  ledger: LedgerSubject,
  workspace: number,
  change: { readonly id: string; readonly enabled: boolean }
): Effect.Effect<unknown, BenchError> =>
  fetchText(`${ledger.baseUrl}/trpc/settings.webhooks.update`, {
    method: "POST",
    headers: headersOf(ledger.accesses[workspace] ?? ledger.accesses[0]),
    body: JSON.stringify(change)
  })
