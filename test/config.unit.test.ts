// Every setting: that README's table and the program know the same ones, and that a wrong value is
// refused with a message that names its variable.
import * as fs from "node:fs"
import * as path from "node:path"
import { Cause, ConfigProvider, Context, Duration, Effect, Exit, Layer } from "effect"
import { assert, describe, it } from "vitest"
import { Configuration, type Settings } from "../src/config.ts"

const ROOT = path.resolve(import.meta.dirname, "..")
const read = (file: string) => fs.readFileSync(path.join(ROOT, file), "utf8")

const settingsOf = (env: Record<string, string>): Exit.Exit<Settings, unknown> =>
  Effect.runSyncExit(
    Effect.scoped(Effect.map(Layer.build(Configuration.layer), Context.get(Configuration))).pipe(
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env)))
    )
  )

const settings = (env: Record<string, string>) => {
  const exit = settingsOf(env)
  return Exit.isSuccess(exit) ? exit.value : assert.fail(Cause.pretty(exit.cause))
}

describe("the README's table of settings", () => {
  const section = read("README.md").split("\n## Settings\n")[1]?.split("\n## ")[0] ?? ""
  const documented = new Set(section.match(/`(?:LEDGER_[A-Z_]+|DATABASE_URL)`/g))

  it("names every variable that the program reads, and no other", () => {
    const known = new Set(
      read("src/config.ts")
        .match(/"(?:LEDGER_[A-Z_]+|DATABASE_URL)"/g)
        ?.map((name) => name.replaceAll('"', "`"))
    )
    assert.sameMembers(Array.from(documented), Array.from(known))
  })
})

describe("without any variable", () => {
  it("everything has the default that the README tells", () => {
    const { host, port, dataDir, tls, maxBodyBytes, operationsPort, webhooks } = settings({})
    assert.deepStrictEqual(
      { host, port, dataDir, tls, maxBodyBytes, operationsPort },
      {
        host: "127.0.0.1",
        port: 8443,
        dataDir: ".ledger",
        tls: { mode: "local" },
        maxBodyBytes: 1_048_576,
        operationsPort: undefined
      }
    )
    assert.deepStrictEqual(
      webhooks.retryDelays.map(Duration.toSeconds),
      [30, 120, 600, 3_600, 21_600]
    )
    assert.strictEqual(Duration.toSeconds(webhooks.timeout), 10)
    assert.strictEqual(Duration.toDays(webhooks.retention), 30)
  })
})

describe("the private-network guard", () => {
  it.each([
    ["a service on loopback", {}, true],
    ["a service on every interface", { LEDGER_HOST: "0.0.0.0" }, false],
    ["a service on loopback behind a proxy", { LEDGER_BEHIND_PROXY: "true" }, false]
  ])("%s", (_, env, letsLoopbackThrough) => {
    assert.strictEqual(settings(env).webhooks.allow.length > 0, letsLoopbackThrough)
  })
})

describe("delays before retries", () => {
  const delays = (text: string) =>
    settings({ LEDGER_WEBHOOK_RETRY_DELAYS: text }).webhooks.retryDelays.map(Duration.toMillis)
  const problemOf = (text: string) => {
    const exit = settingsOf({ LEDGER_WEBHOOK_RETRY_DELAYS: text })
    return Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : assert.fail("accepted")
  }

  it("may be zero, or 1 millisecond to 365 days", () => {
    assert.deepStrictEqual(delays("0 seconds, 1 millis, 365 days"), [0, 1, 365 * 86_400_000])
  })

  it.each(["366 days", "999999999999 days", `${"9".repeat(400)} days`, "0.5 millis", "-1 days"])(
    "are refused beyond that: %s",
    (delay) => {
      const problem = problemOf(`30 seconds, ${delay}`)
      assert.include(problem, "each of 1 millisecond to 365 days, or zero")
      assert.include(problem, `"${delay.slice(0, 64)}`)
    }
  )

  it("are 1 to 20", () => {
    const times = (count: number) => Array.from({ length: count }, () => "1 hour").join()
    assert.lengthOf(delays(times(1)), 1)
    assert.lengthOf(delays(times(20)), 20)
    const problem = problemOf(times(21))
    assert.include(problem, "1 to 20 durations")
    assert.include(problem, "these are 21")
    assert.include(problemOf("1 hour,"), '"" is not')
  })
})

it("a timeout may be as long as 1 hour, a retention as long as 36500 days", () => {
  const { retention, timeout } = settings({
    LEDGER_WEBHOOK_TIMEOUT: "1 hour",
    LEDGER_WEBHOOK_RETENTION: "36500 days"
  }).webhooks
  assert.strictEqual(Duration.toHours(timeout), 1)
  assert.strictEqual(Duration.toDays(retention), 36_500)
})

describe("a wrong value is refused, naming the variable", () => {
  it.each([
    ["LEDGER_PORT", "abc"],
    ["LEDGER_PORT", "65536"],
    ["LEDGER_OPS_PORT", "-1"],
    ["LEDGER_DATABASE_CONNECTIONS", "1"],
    ["LEDGER_TLS", "maybe"],
    ["LEDGER_MAX_BODY", "99GiB"],
    ["LEDGER_MAX_BODY", "much"],
    ["LEDGER_LOG_LEVEL", "loud"],
    ["LEDGER_BEHIND_PROXY", "perhaps"],
    ["LEDGER_WEBHOOK_RETRY_DELAYS", "soon"],
    ["LEDGER_WEBHOOK_TIMEOUT", "0 seconds"],
    ["LEDGER_WEBHOOK_TIMEOUT", "61 minutes"],
    ["LEDGER_WEBHOOK_RETENTION", "for ever"],
    ["LEDGER_WEBHOOK_RETENTION", "36501 days"],
    ["LEDGER_WEBHOOK_ALLOW", "10.0.0.0/99"]
  ])("%s=%s", (name, value) => {
    const exit = settingsOf({ [name]: value })
    assert.isTrue(Exit.isFailure(exit))
    if (Exit.isFailure(exit)) assert.include(String(Cause.squash(exit.cause)), name)
  })

  it("plain HTTP is only for loopback, or behind a proxy", () => {
    assert.isTrue(Exit.isFailure(settingsOf({ LEDGER_TLS: "off", LEDGER_HOST: "0.0.0.0" })))
    assert.isTrue(Exit.isSuccess(settingsOf({ LEDGER_TLS: "off" })))
    const behindProxy = { LEDGER_TLS: "off", LEDGER_HOST: "0.0.0.0", LEDGER_BEHIND_PROXY: "true" }
    assert.isTrue(Exit.isSuccess(settingsOf(behindProxy)))
  })
})
