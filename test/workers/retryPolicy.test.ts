// The spec's retry table, as the schedule that a persisted count of attempts is put to.
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { DEFAULT_RETRY_DELAYS, delayAfter, retrySchedule } from "../../src/workers/retryPolicy.ts"

const TABLE = [
  [1, 30],
  [2, 2 * 60],
  [3, 10 * 60],
  [4, 60 * 60],
  [5, 6 * 60 * 60],
  [6, undefined],
  [7, undefined]
] as const

it.effect.each(TABLE)(
  "after %i failed attempts the next is %s seconds later",
  ([failed, seconds]) =>
    Effect.gen(function* () {
      const delay = yield* delayAfter(retrySchedule(DEFAULT_RETRY_DELAYS), failed)
      assert.strictEqual(delay, seconds === undefined ? undefined : seconds * 1_000)
    })
)

it.effect("one schedule serves any number of deliveries: it keeps nothing", () =>
  Effect.gen(function* () {
    const schedule = retrySchedule(DEFAULT_RETRY_DELAYS)
    for (let time = 0; time < 3; time++) {
      assert.strictEqual(yield* delayAfter(schedule, 5), 21_600_000)
      assert.strictEqual(yield* delayAfter(schedule, 1), 30_000)
    }
  })
)

it.effect("has as many retries as delays are set", () =>
  Effect.gen(function* () {
    const schedule = retrySchedule([Duration.millis(5)])
    assert.strictEqual(yield* delayAfter(schedule, 1), 5)
    assert.strictEqual(yield* delayAfter(schedule, 2), undefined)
  })
)
