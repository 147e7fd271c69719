// The one source of `now`: the Effect clock, put to the database's clock, so that replicas on hosts
// whose clocks differ agree about time. There is no now() in any statement.
import { Clock, Context, Effect, Layer } from "effect"
import { readServerTime } from "./store/server.ts"

export class LedgerClock extends Context.Service<
  LedgerClock,
  {
    /** Milliseconds since the epoch. */
    readonly now: Effect.Effect<number>
  }
>()("workspace-ledger/domain/LedgerClock") {
  /** The Effect clock as it is: what tests under `TestClock` use. */
  static readonly layerLocal = Layer.succeed(
    LedgerClock,
    LedgerClock.of({ now: Clock.currentTimeMillis })
  )

  /** Follows the database's clock, measured at start and every minute. */
  static readonly layer = Layer.effect(
    LedgerClock,
    Effect.gen(function* () {
      let offsetMillis = yield* measureOffset
      yield* measureOffset.pipe(
        Effect.tap((offset) =>
          Effect.sync(() => {
            offsetMillis = offset
          })
        ),
        Effect.ignore({ log: "Debug" }),
        Effect.delay("1 minute"),
        Effect.forever,
        Effect.forkScoped
      )
      return LedgerClock.of({
        now: Effect.map(Clock.currentTimeMillis, (now) => Math.round(now + offsetMillis))
      })
    })
  )
}

/** A difference this small is the network's, not the clocks'. */
const NOISE_MILLISECONDS = 50

/** How far the database's clock is ahead, assuming that both ways of the question took as long. */
const measureOffset = Effect.gen(function* () {
  const before = yield* Clock.currentTimeMillis
  const time = yield* readServerTime
  const after = yield* Clock.currentTimeMillis
  const offset = (time ?? before) - (before + after) / 2
  return Math.abs(offset) < NOISE_MILLISECONDS ? 0 : offset
})
