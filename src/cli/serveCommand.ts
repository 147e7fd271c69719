// `ledger serve`: the service, as `npm start` runs it.
import { Console, Context, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import * as Service from "../service.ts"
import { JsonFlag } from "./environment.ts"

/** What the service prints for people goes where its logs go. */
const toStderr = (console: Console.Console): Console.Console => ({ ...console, log: console.error })

const announced = Effect.fnUntraced(function* () {
  const console = yield* Console.Console
  const services = yield* Layer.build(Service.layer).pipe(
    Effect.provideService(Console.Console, toStderr(console))
  )
  const { baseUrl, caFile, operationsUrl } = Context.get(services, Service.ServiceAddress)
  const address = { base_url: baseUrl, operations_url: operationsUrl ?? null, ca_file: caFile }
  yield* Console.log(JSON.stringify({ ok: true, ...address }))
  return yield* Effect.never
})

export const serveCommand = Command.make(
  "serve",
  {},
  Effect.fn(function* () {
    const asJson = yield* JsonFlag
    return yield* asJson ? Effect.scoped(announced()) : Layer.launch(Service.layer)
  })
).pipe(
  Command.withShortDescription("Run the service until it is stopped"),
  Command.withDescription(
    "Run the service until SIGTERM or SIGINT. Every setting is an environment variable, such as LEDGER_PORT, LEDGER_DATA_DIR and DATABASE_URL; without DATABASE_URL a PostgreSQL is started in the data folder. With --json the address is printed as one JSON value once the service is ready."
  ),
  Command.withExamples([
    {
      command: "ledger serve",
      description: "On https://127.0.0.1:8443, with an embedded database"
    },
    {
      command: "LEDGER_PORT=9443 DATABASE_URL=postgres://… ledger serve",
      description: "On another port and another database"
    }
  ])
)
