// `npm run bench`: measures the service against its peer and prints one table; `npm run bench
// deliveries` does the same for the delivery of webhooks. The table goes to
// standard output, what is being done to standard error.
import * as fs from "node:fs"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Logger } from "effect"
import { runBench } from "./bench.ts"
import { readDeliveriesPlan } from "./deliveries/plan.ts"
import { formatDeliveries, jsonDeliveries } from "./deliveries/report.ts"
import { benchDeliveries } from "./deliveries.ts"
import { readPlan, USAGE } from "./plan.ts"
import { BenchError } from "./processes.ts"
import { formatReport, jsonReport } from "./report.ts"

/** No run takes longer, whatever hangs. */
const TIMEOUT = "20 minutes"

interface Printed {
  readonly table: string
  readonly json: string
  readonly jsonFile: string | undefined
}

const readOptions = <A>(read: () => A) =>
  Effect.try({
    try: read,
    catch: (error) => new BenchError({ message: `${(error as Error).message}\n\n${USAGE}` })
  })

const service = Effect.fnUntraced(function* (commandLine: ReadonlyArray<string>) {
  const plan = yield* readOptions(() => readPlan(commandLine))
  if (plan === undefined) return undefined
  const report = yield* runBench(plan)
  const { jsonFile } = plan
  return { table: formatReport(report), json: jsonReport(report), jsonFile } satisfies Printed
})

const deliveries = Effect.fnUntraced(function* (commandLine: ReadonlyArray<string>) {
  const plan = yield* readOptions(() => readDeliveriesPlan(commandLine))
  if (plan === undefined) return undefined
  const report = yield* benchDeliveries(plan)
  const { jsonFile } = plan
  return {
    table: formatDeliveries(report),
    json: jsonDeliveries(report),
    jsonFile
  } satisfies Printed
})

const program = Effect.gen(function* () {
  const [first, ...others] = process.argv.slice(2)
  const bench = first === "deliveries" ? deliveries(others) : service(process.argv.slice(2))
  const printed = yield* Effect.timeoutOrElse(bench, {
    duration: TIMEOUT,
    orElse: () => Effect.fail(new BenchError({ message: `The bench took over ${TIMEOUT}.` }))
  })
  if (printed === undefined) return yield* Console.log(USAGE)
  yield* Console.log(printed.table)
  const { json, jsonFile } = printed
  if (jsonFile !== undefined) yield* Effect.sync(() => fs.writeFileSync(jsonFile, json))
})

/** What is being done, one plain line each. */
const progress = Logger.make(({ message }) => {
  process.stderr.write(`${Array.isArray(message) ? message.join(" ") : String(message)}\n`)
})

program.pipe(
  Effect.tapError((error) => Console.error(error.message)),
  Effect.provide(Logger.layer([progress])),
  (bench) => NodeRuntime.runMain(bench, { disableErrorReporting: true })
)
