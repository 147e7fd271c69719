// A program for tests: holds the embedded PostgreSQL of a data folder as a service would, until it is
// signalled. Prints one JSON line: {"path"} when it holds the cluster, or {"reason","message"}.
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Logger } from "effect"
import { startEmbeddedPostgres } from "../../src/platform/embeddedPostgres.ts"

const print = (value: unknown) =>
  Effect.sync(() => process.stdout.write(`${JSON.stringify(value)}\n`))

startEmbeddedPostgres({ dataDir: process.argv[2] ?? "", settings: { fsync: "off" } }).pipe(
  Effect.flatMap((connection) => print({ path: connection.path })),
  Effect.andThen(Effect.never),
  Effect.scoped,
  Effect.catch((error) => print({ reason: error.reason, message: error.message })),
  Effect.provide(Logger.layer([])),
  NodeRuntime.runMain
)
