// When a failed delivery is tried again: «30 seconds, 2 minutes, 10 minutes, 1 hour, 6 hours», as one
// Effect Schedule that the persisted count of attempts is put to.
import { Duration, Effect, Schedule } from "effect"

export const DEFAULT_RETRY_DELAYS: ReadonlyArray<Duration.Duration> = [
  Duration.seconds(30),
  Duration.minutes(2),
  Duration.minutes(10),
  Duration.hours(1),
  Duration.hours(6)
]

/** Recurs once after each delay, in their order, and then is done. */
export const retrySchedule = (
  delays: ReadonlyArray<Duration.Duration>
): Schedule.Schedule<unknown> =>
  delays.reduce<Schedule.Schedule<unknown>>(
    (schedule, delay) => Schedule.concat(schedule, Schedule.duration(delay)),
    Schedule.recurs(0)
  )

/**
 * The delay after the given number of failed attempts, in milliseconds from the end of the last one;
 * undefined when there is no further attempt: «after 5 failed retries the delivery is marked failed».
 */
export const delayAfter = Effect.fnUntraced(function* (
  schedule: Schedule.Schedule<unknown>,
  failedAttempts: number
): Effect.fn.Return<number | undefined> {
  const step = yield* Schedule.toStep(schedule)
  let delay: Duration.Duration = Duration.zero
  for (let failed = 1; failed <= failedAttempts; failed++) {
    const next = yield* Effect.option(step(0, undefined))
    if (next._tag === "None") return undefined
    delay = next.value[1]
  }
  return Duration.toMillis(delay)
})
