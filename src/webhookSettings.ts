// The settings of webhook delivery (LEDGER_WEBHOOK_*), read and checked. Part of config.ts.
import { Duration, Option, Result } from "effect"
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

/** A duration as people write it: `30 seconds`, `2 minutes`, `500 millis`. */
const parseDuration = (text: string): Duration.Duration | undefined => {
  if (!/^\d+(\.\d+)? [a-z]+$/.test(text.trim())) return undefined
  return Option.getOrUndefined(Duration.fromInput(text.trim() as Duration.Input))
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
  const delays = values.retryDelays.split(",").map(parseDuration)
  const retryDelays = delays.filter((delay) => delay !== undefined)
  if (retryDelays.length !== delays.length || delays.length > MOST_RETRIES) {
    return Result.fail(
      `LEDGER_WEBHOOK_RETRY_DELAYS must be durations separated by commas, such as: ${RETRY_DELAYS_DEFAULT}.`
    )
  }
  const timeout = parseDuration(values.timeout)
  if (timeout === undefined || Duration.toMillis(timeout) === 0) {
    return Result.fail("LEDGER_WEBHOOK_TIMEOUT must be a duration, such as: 10 seconds.")
  }
  const retention = parseDuration(values.retention)
  if (retention === undefined) {
    return Result.fail("LEDGER_WEBHOOK_RETENTION must be a duration, such as: 30 days.")
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
