// One bench run from start to end: PostgreSQL, both services, the load, the figures. Everything that
// it starts ends with its scope.
import { Effect } from "effect"
import { requireAgreement } from "./agreement.ts"
import { startGenerator } from "./generator.ts"
import { compareSizes } from "./large.ts"
import { type Bench, measureReads, measureWrites, warmUp } from "./measures.ts"
import { measurePgbench } from "./pgbench.ts"
import type { Plan } from "./plan.ts"
import { startPostgres } from "./postgres.ts"
import { usageOf } from "./processes.ts"
import type { Report } from "./report.ts"
import { startLedger, startPeer } from "./subjects.ts"

export const runBench = Effect.fnUntraced(function* (plan: Plan) {
  const postgres = yield* startPostgres
  const generator = yield* startGenerator
  const ours = yield* startLedger(postgres, "ours", plan.connections)
  const peer = yield* startPeer(postgres, "peer", plan.connections)
  yield* requireAgreement(ours, peer)
  const bench: Bench = { plan, generator, ours, peer }
  const commitments = yield* warmUp(bench)
  const { comparisons: writes, meanBatch } = yield* measureWrites(bench)
  const residentBytes = usageOf(ours.pid)?.residentBytes
  const reads = yield* measureReads(bench, commitments)
  const pgbenchPerSecond = yield* measurePgbench(plan, peer)
  const sizes =
    plan.largeRecords === undefined
      ? []
      : yield* Effect.scoped(compareSizes(postgres, generator, plan.largeRecords))
  return {
    comparisons: [...writes, ...reads],
    sizes,
    meanBatch,
    pgbenchPerSecond,
    residentBytes
  } satisfies Report
}, Effect.scoped)
