// Every setting of the service, named, described and defaulted in one place. The README's table of
// settings is this list; `config.unit.test.ts` holds the two together.
import { ByteSize, Config, Context, Effect, Layer, Option, type Redacted } from "effect"
import {
  RETENTION_DEFAULT,
  RETRY_DELAYS_DEFAULT,
  readWebhookSettings,
  TIMEOUT_DEFAULT,
  type WebhookSettings
} from "./webhookSettings.ts"

/** A setting that is wrong, in words for whoever set it. */
export class ConfigurationError extends Error {
  readonly _tag = "ConfigurationError"
}

/** Bytes as a plain number, or with a unit: `1048576`, `1MiB`, `512KiB`. */
const parseBytes = (text: string): number | undefined =>
  /^\d+$/.test(text)
    ? Number(text)
    : Option.getOrUndefined(Option.flatMap(ByteSize.fromString(text), ByteSize.toNumber))

const MAX_BODY_BYTES = 10 * 1024 * 1024

const text = (name: string, fallback: string) =>
  Config.String(name).pipe(Config.withDefault(fallback))
const optionalText = (name: string) => Config.option(Config.String(name))

const Variables = Config.all({
  host: text("LEDGER_HOST", "127.0.0.1"),
  port: Config.Int("LEDGER_PORT").pipe(Config.withDefault(8443)),
  operationsPort: Config.option(Config.Int("LEDGER_OPS_PORT")),
  dataDir: text("LEDGER_DATA_DIR", ".ledger"),
  databaseUrl: Config.option(Config.Redacted("DATABASE_URL")),
  preparedStatements: Config.Boolean("LEDGER_PREPARED_STATEMENTS").pipe(Config.withDefault(true)),
  databaseConnections: Config.Int("LEDGER_DATABASE_CONNECTIONS").pipe(Config.withDefault(10)),
  tls: text("LEDGER_TLS", "local"),
  tlsCertificate: optionalText("LEDGER_TLS_CERT"),
  tlsKey: optionalText("LEDGER_TLS_KEY"),
  behindProxy: Config.Boolean("LEDGER_BEHIND_PROXY").pipe(Config.withDefault(false)),
  maxBody: text("LEDGER_MAX_BODY", "1MiB"),
  logLevel: text("LEDGER_LOG_LEVEL", "info"),
  bootstrapWorkspace: optionalText("LEDGER_BOOTSTRAP_WORKSPACE"),
  bootstrapToken: Config.option(Config.Redacted("LEDGER_BOOTSTRAP_TOKEN")),
  bootstrapName: text("LEDGER_BOOTSTRAP_NAME", "default"),
  webhookRetryDelays: text("LEDGER_WEBHOOK_RETRY_DELAYS", RETRY_DELAYS_DEFAULT),
  webhookTimeout: text("LEDGER_WEBHOOK_TIMEOUT", TIMEOUT_DEFAULT),
  webhookRetention: text("LEDGER_WEBHOOK_RETENTION", RETENTION_DEFAULT),
  webhookAllow: optionalText("LEDGER_WEBHOOK_ALLOW")
})

export type TlsMode =
  | { readonly mode: "local" }
  | { readonly mode: "files"; readonly certificate: string; readonly key: string }
  | { readonly mode: "off" }

export type LogLevelName = "debug" | "info" | "warn" | "error"

export interface Settings {
  readonly host: string
  readonly port: number
  readonly operationsPort: number | undefined
  readonly dataDir: string
  readonly databaseUrl: Redacted.Redacted | undefined
  readonly preparedStatements: boolean
  readonly databaseConnections: number
  readonly tls: TlsMode
  readonly behindProxy: boolean
  readonly maxBodyBytes: number
  readonly logLevel: LogLevelName
  readonly webhooks: WebhookSettings
  /** What the first workspace is called. */
  readonly bootstrapName: string
  readonly bootstrap:
    | {
        readonly workspaceId: string
        readonly token: Redacted.Redacted
        readonly name: string
      }
    | undefined
}

export class Configuration extends Context.Service<Configuration, Settings>()(
  "workspace-ledger/Configuration"
) {
  /** Reads and checks the variables. Fails with a ConfigurationError that names the variable. */
  static readonly layer = Layer.effect(
    Configuration,
    Effect.suspend(() => readSettings)
  )
}

type Values = Config.Success<typeof Variables>

const refuse = (message: string) => Effect.fail(new ConfigurationError(message))

const readSettings = Effect.gen(function* () {
  const values = yield* Variables.pipe(Effect.mapError(describeError))
  const tls = yield* readTls(values)
  const maxBodyBytes = parseBytes(values.maxBody)
  if (maxBodyBytes === undefined || maxBodyBytes < 1 || maxBodyBytes > MAX_BODY_BYTES) {
    return yield* refuse("LEDGER_MAX_BODY must be a size of 1 byte to 10MiB, such as 1MiB.")
  }
  const operationsPort = Option.getOrUndefined(values.operationsPort)
  if (values.databaseConnections < 2) {
    return yield* refuse(
      `LEDGER_DATABASE_CONNECTIONS must be ${EXPECTED.LEDGER_DATABASE_CONNECTIONS}.`
    )
  }
  yield* requirePort("LEDGER_PORT", values.port)
  yield* requirePort("LEDGER_OPS_PORT", operationsPort ?? 0)
  return Configuration.of({
    host: values.host,
    port: values.port,
    operationsPort,
    dataDir: values.dataDir,
    databaseUrl: Option.getOrUndefined(values.databaseUrl),
    preparedStatements: values.preparedStatements,
    databaseConnections: values.databaseConnections,
    tls,
    behindProxy: values.behindProxy,
    maxBodyBytes,
    logLevel: yield* readLogLevel(values.logLevel),
    webhooks: yield* readWebhooks(values),
    bootstrapName: values.bootstrapName,
    bootstrap: yield* readBootstrap(values)
  })
})

/** What a variable that is not a text must be. */
const EXPECTED: Readonly<Record<string, string>> = {
  LEDGER_PORT: "a port from 0 to 65535",
  LEDGER_OPS_PORT: "a port from 0 to 65535",
  LEDGER_DATABASE_CONNECTIONS: "a whole number of 2 or more",
  LEDGER_PREPARED_STATEMENTS: "true or false",
  LEDGER_BEHIND_PROXY: "true or false"
}

/** The library says where the value stands; the name of the variable is what its setter knows. */
const describeError = (error: Config.ConfigError) => {
  const name = /\["(\w+)"\]/.exec(error.message)?.[1] ?? "A setting"
  return new ConfigurationError(
    `${name} must be ${EXPECTED[name] ?? "as the README's table says"}.`
  )
}

/** Port 0 lets the system choose a free one. */
const requirePort = (name: string, port: number) =>
  port >= 0 && port <= 65_535 ? Effect.void : refuse(`${name} must be ${EXPECTED[name]}.`)

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host)

const readTls = (values: Values): Effect.Effect<TlsMode, ConfigurationError> => {
  const certificate = Option.getOrUndefined(values.tlsCertificate)
  const key = Option.getOrUndefined(values.tlsKey)
  switch (values.tls) {
    case "local":
      return Effect.succeed({ mode: "local" })
    case "files":
      return certificate === undefined || key === undefined
        ? refuse("LEDGER_TLS=files needs LEDGER_TLS_CERT and LEDGER_TLS_KEY.")
        : Effect.succeed({ mode: "files", certificate, key })
    case "off":
      return isLoopback(values.host) || values.behindProxy
        ? Effect.succeed({ mode: "off" })
        : refuse(
            "LEDGER_TLS=off is only for a loopback LEDGER_HOST, or with LEDGER_BEHIND_PROXY=true behind a proxy that ends TLS."
          )
    default:
      return refuse("LEDGER_TLS must be local, files or off.")
  }
}

const readWebhooks = (values: Values): Effect.Effect<WebhookSettings, ConfigurationError> =>
  Effect.mapError(
    Effect.fromResult(
      readWebhookSettings({
        retryDelays: values.webhookRetryDelays,
        timeout: values.webhookTimeout,
        retention: values.webhookRetention,
        allow: Option.getOrUndefined(values.webhookAllow),
        onLoopback: isLoopback(values.host) && !values.behindProxy
      })
    ),
    (problem) => new ConfigurationError(problem)
  )

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const

const readLogLevel = (name: string): Effect.Effect<LogLevelName, ConfigurationError> => {
  const level = LOG_LEVELS.find((level) => level === name.toLowerCase())
  return level === undefined
    ? refuse(`LEDGER_LOG_LEVEL must be one of: ${LOG_LEVELS.join(", ")}.`)
    : Effect.succeed(level)
}

const readBootstrap = (
  values: Values
): Effect.Effect<Settings["bootstrap"], ConfigurationError> => {
  const workspaceId = Option.getOrUndefined(values.bootstrapWorkspace)
  const token = Option.getOrUndefined(values.bootstrapToken)
  if (workspaceId === undefined && token === undefined) return Effect.succeed(undefined)
  return workspaceId === undefined || token === undefined
    ? refuse("LEDGER_BOOTSTRAP_WORKSPACE and LEDGER_BOOTSTRAP_TOKEN go together.")
    : Effect.succeed({ workspaceId, token, name: values.bootstrapName })
}
