// `npm run bench`: measures the service against its peer and prints one table. The table goes to
// standard output, what is being done to standard error.
import * as fs from "node:fs"
import { NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Logger } from "effect"
import { runBench } from "./bench.ts"
import { readPlan, USAGE } from "./plan.ts"
import { BenchError } from "./processes.ts"
import { formatReport, jsonReport } from "./report.ts"

/** No run takes longer, whatever hangs. */
const TIMEOUT = "20 minutes"

const program = Effect.gen(function* () {
  const plan = yield* Effect.try({
    try: () => readPlan(process.argv.slice(2)),
    catch: (error) => new BenchError({ message: `${(error as Error).message}\n\n${USAGE}` })
  })
  if (plan === undefined) return yield* Console.log(USAGE)
  const report = yield* Effect.timeoutOrElse(runBench(plan), {
    duration: TIMEOUT,
    orElse: () => Effect.fail(new BenchError({ message: `The bench took over ${TIMEOUT}.` }))
  })
  yield* Console.log(formatReport(report))
  const { jsonFile } = plan
  if (jsonFile !== undefined)
    yield* Effect.sync(() => fs.writeFileSync(jsonFile, jsonReport(report)))
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
