// The service as one layer: settings, database, domain, and the doors to it. main.ts launches it;
// tests build it in their own process.
import * as fs from "node:fs"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Console, Context, Effect, Layer } from "effect"
import { announceAccess, prepareAccess } from "./access.ts"
import { Configuration, ConfigurationError, type Settings } from "./config.ts"
import * as Housekeeping from "./domain/housekeeping.ts"
import * as Ledger from "./domain/ledger.ts"
import { ReceiverPolicy } from "./domain/receiverPolicy.ts"
import * as Database from "./platform/database.ts"
import { localCertificate } from "./platform/localCertificate.ts"
import { serveOperations, takeOperationsPort } from "./rest/operationsPort.ts"
import { type TakenPort, takePort } from "./rest/port.ts"
import { serve } from "./rest/server.ts"
import { PROGRAM_VERSION } from "./version.ts"
import { DeliveryWorkers } from "./workers/deliveryWorkers.ts"
import { WebhookSender } from "./workers/sendWebhook.ts"

/** Where the service listens. */
export class ServiceAddress extends Context.Service<
  ServiceAddress,
  {
    readonly baseUrl: string
    /** The operations port, when it is open. */
    readonly operationsUrl: string | undefined
    readonly caFile: string | null
  }
>()("workspace-ledger/ServiceAddress") {}

/** The ports that the settings name, ours from the start on. */
class Ports extends Context.Service<
  Ports,
  { readonly main: TakenPort; readonly operations: TakenPort | undefined }
>()("workspace-ledger/Ports") {}

/** Before the database: a start that finds its port in use leaves nothing behind. */
const ports = Layer.effect(
  Ports,
  Effect.gen(function* () {
    const { host, operationsPort, port } = yield* Configuration
    const main = yield* takePort({ host, port, problemOf: portProblem(host, port) })
    const operations =
      operationsPort === undefined ? undefined : yield* takeOperationsPort(operationsPort)
    return Ports.of({ main, operations })
  })
)

const portProblem = (host: string, port: number) => (error: NodeJS.ErrnoException) => {
  switch (error.code) {
    case "EADDRINUSE":
      return `Port ${port} of ${host} is in use already. Set LEDGER_PORT to another one.`
    case "EACCES":
      return `This user may not listen on port ${port} of ${host}. Set LEDGER_PORT to another one.`
    default:
      return `The service cannot listen on port ${port} of ${host}. Check LEDGER_HOST and LEDGER_PORT.`
  }
}

const doors = Layer.effect(
  ServiceAddress,
  Effect.gen(function* () {
    const settings = yield* Configuration
    const { main, operations } = yield* Ports
    const access = yield* prepareAccess(settings)
    const { caFile, tls } = yield* readTls(settings)
    const { behindProxy, maxBodyBytes } = settings
    yield* serve({ port: main, tls, maxBodyBytes, behindProxy })
    if (operations !== undefined) yield* serveOperations(operations)
    const operationsUrl =
      operations === undefined ? undefined : `http://127.0.0.1:${operations.address.port}`
    const baseUrl = baseUrlOf(settings, main.address)
    yield* Console.log(`listening on ${baseUrl}`)
    yield* announceAccess(settings, access, { baseUrl, caFile })
    // The last to be made is the first to go.
    yield* Effect.addFinalizer(() => Console.log("stopping"))
    return ServiceAddress.of({ baseUrl, operationsUrl, caFile })
  })
)

/** The domain, with the workers that send its callbacks. */
const ledger = Layer.unwrap(
  Effect.map(Configuration, ({ webhooks }) => {
    const { allow, retention, retryDelays, timeout } = webhooks
    const userAgent = `workspace-ledger/${PROGRAM_VERSION}`
    const sender = WebhookSender.layer({ timeout, allow, userAgent })
    const workers = DeliveryWorkers.layer({ retryDelays }).pipe(Layer.provide(sender))
    return Housekeeping.layer.pipe(
      Layer.provide(Layer.succeed(Housekeeping.DeliveryRetention, retention)),
      Layer.provideMerge(Ledger.layerWith(workers)),
      Layer.provide(Layer.succeed(ReceiverPolicy, allow))
    )
  })
)

/** The whole service; its scope is its life. */
export const layer = doors.pipe(
  Layer.provideMerge(ledger),
  Layer.provideMerge(Database.layerForService),
  Layer.provide(ports),
  Layer.provideMerge(Configuration.layer)
)

const readTls = Effect.fnUntraced(function* (settings: Settings) {
  const { tls } = settings
  switch (tls.mode) {
    case "off":
      return { tls: undefined, caFile: null }
    case "files": {
      const cert = yield* readFile("LEDGER_TLS_CERT", tls.certificate)
      const key = yield* readFile("LEDGER_TLS_KEY", tls.key)
      return { tls: { cert, key }, caFile: null }
    }
    case "local": {
      const names = ["localhost", "127.0.0.1", "::1", os.hostname(), settings.host]
      const { caFile, cert, key } = yield* localCertificate({ dataDir: settings.dataDir, names })
      // Whole, because credentials.json is read from other folders too.
      return { tls: { cert, key }, caFile: path.resolve(caFile) }
    }
  }
})

const readFile = (variable: string, file: string) =>
  Effect.try({
    try: () => fs.readFileSync(file, "utf8"),
    catch: () => new ConfigurationError(`The file that ${variable} names cannot be read: ${file}`)
  })

/** An address for every interface is reached on this machine by its loopback address. */
const baseUrlOf = (settings: Settings, { port }: AddressInfo) => {
  const scheme = settings.tls.mode === "off" ? "http" : "https"
  const everywhere = settings.host === "0.0.0.0" || settings.host === "::"
  const host = everywhere ? "127.0.0.1" : settings.host
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`
}
