// The settings of webhook delivery (LEDGER_WEBHOOK_*), read and checked. Part of config.ts.
import { Duration, Option, Result } from "effect"
import { quote } from "./domain/limits.ts"
import { type AllowList, LOOPBACK_ALLOWED, parseAllowList } from "./domain/receiverAddress.ts"

export interface WebhookSettings {
  /** From the end of each failed attempt to the start of the next. */
  readonly retryDelays: ReadonlyArray<Duration.Duration>
  /** «The service waits up to 10 seconds for a response.» */
  readonly timeout: Duration.Duration
  /** What the private-network guard lets through. */
  readonly allow: AllowList
  /** How long a delivery stays in the log after it has ended. */
  readonly retention: Duration.Duration
}

export const RETRY_DELAYS_DEFAULT = "30 seconds, 2 minutes, 10 minutes, 1 hour, 6 hours"
export const TIMEOUT_DEFAULT = "10 seconds"
export const RETENTION_DEFAULT = "30 days"

const MOST_RETRIES = 20
/** Times are kept in milliseconds; zero is «at once». */
const SHORTEST_DELAY = Duration.millis(1)
/** Far within the dates that PostgreSQL and JavaScript can hold. */
const LONGEST_DELAY = Duration.days(365)
const LONGEST_RETENTION = Duration.days(36_500)
/** Timers end at 24 days; a connection that is silent for an hour says nothing any more. */
const LONGEST_TIMEOUT = Duration.hours(1)

/** A duration as people write it: `30 seconds`, `2 minutes`, `500 millis`. */
const parseDuration = (text: string, longest: Duration.Duration): Duration.Duration | undefined => {
  if (!/^\d+(\.\d+)? [a-z]+$/.test(text.trim())) return undefined
  const duration = Option.getOrUndefined(Duration.fromInput(text.trim() as Duration.Input))
  return duration === undefined || Duration.isGreaterThan(duration, longest) ? undefined : duration
}

const parseRetryDelay = (text: string): Duration.Duration | undefined => {
  const delay = parseDuration(text, LONGEST_DELAY)
  if (delay === undefined || Duration.isZero(delay)) return delay
  return Duration.isLessThan(delay, SHORTEST_DELAY) ? undefined : delay
}

const readRetryDelays = (text: string): Result.Result<ReadonlyArray<Duration.Duration>, string> => {
  const texts = text.split(",")
  const delays = texts.map(parseRetryDelay)
  const wrong = texts.find((_, index) => delays[index] === undefined)
  if (wrong === undefined && texts.length <= MOST_RETRIES) {
    return Result.succeed(delays.filter((delay) => delay !== undefined))
  }
  const problem =
    wrong === undefined ? `these are ${texts.length}` : `${quote(wrong.trim())} is not`
  return Result.fail(
    `LEDGER_WEBHOOK_RETRY_DELAYS must be 1 to ${MOST_RETRIES} durations separated by commas, each of 1 millisecond to 365 days, or zero, such as: ${RETRY_DELAYS_DEFAULT}; ${problem}.`
  )
}

/** Fails with what is wrong, naming the variable. */
export const readWebhookSettings = (values: {
  readonly retryDelays: string
  readonly timeout: string
  readonly retention: string
  readonly allow: string | undefined
  /** The service itself is reached on loopback only: then receivers on loopback are let through. */
  readonly onLoopback: boolean
}): Result.Result<WebhookSettings, string> => {
  const delays = readRetryDelays(values.retryDelays)
  if (Result.isFailure(delays)) return Result.fail(delays.failure)
  const retryDelays = delays.success
  const timeout = parseDuration(values.timeout, LONGEST_TIMEOUT)
  if (timeout === undefined || Duration.toMillis(timeout) === 0) {
    return Result.fail(
      "LEDGER_WEBHOOK_TIMEOUT must be a duration of at most 1 hour, such as: 10 seconds."
    )
  }
  const retention = parseDuration(values.retention, LONGEST_RETENTION)
  if (retention === undefined) {
    return Result.fail(
      "LEDGER_WEBHOOK_RETENTION must be a duration of at most 36500 days, such as: 30 days."
    )
  }
  if (values.allow === undefined) {
    const allow = values.onLoopback ? LOOPBACK_ALLOWED : []
    return Result.succeed({ retryDelays, timeout, retention, allow })
  }
  return Result.map(
    Result.mapError(
      parseAllowList(values.allow),
      (problem) => `LEDGER_WEBHOOK_ALLOW is not valid: ${problem}`
    ),
    (allow) => ({ retryDelays, timeout, retention, allow })
  )
}
