// The program: one layer, launched until SIGTERM or SIGINT.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect, Layer } from "effect"
import { layerEnvironment, layerLogging, reportingFailures, teardown } from "./platform/process.ts"
import * as Service from "./service.ts"

if (import.meta.main) {
  Layer.launch(Service.layer).pipe(
    reportingFailures,
    Effect.provide(layerLogging),
    Effect.provide(layerEnvironment),
    (program) => NodeRuntime.runMain(program, { disableErrorReporting: true, teardown })
  )
}
