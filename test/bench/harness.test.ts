// The bench, in the smallest run that touches every part of it. No speed is asserted: what is held is
// that both services do the same work and answer it alike, and that the figures are there.
import { Effect, Logger } from "effect"
import { assert, test } from "vitest"
import { runBench } from "../../bench/bench.ts"
import { isMet, median, verdict } from "../../bench/figures.ts"
import { type Plan, readPlan } from "../../bench/plan.ts"
import { formatReport, jsonReport } from "../../bench/report.ts"

const WINDOW = { rounds: 1, seconds: 0.2 }

const SMALLEST: Plan = {
  connections: 4,
  warmUpSeconds: 0.2,
  mixed: WINDOW,
  spread: WINDOW,
  single: WINDOW,
  reads: WINDOW,
  pgbench: { rounds: 0, seconds: 0 },
  largeRecords: undefined,
  jsonFile: undefined
}

test("a run measures the service and its peer with the same loads", async () => {
  const report = await runBench(SMALLEST).pipe(Effect.provide(Logger.layer([])), Effect.runPromise)

  assert.deepEqual(
    report.comparisons.map(({ measure }) => measure),
    [
      "POST /ops mixed, 4 connections, one workspace",
      "POST /ops mixed, 1 connection",
      "POST /ops mixed, 4 connections, 4 workspaces",
      "GET /commitments?limit=50, 4 connections",
      "GET /commitments/:id, 4 connections",
      "GET /status, 4 connections"
    ]
  )
  for (const { measure, ours, peer } of report.comparisons) {
    assert.isAbove(ours.perSecond, 0, measure)
    assert.isAbove(peer.perSecond, 0, measure)
    assert.isAtLeast(ours.p99Millis, ours.p50Millis, measure)
  }
  assert.isAtLeast(report.meanBatch, 1)

  const table = formatReport(report)
  assert.include(table, "POST /ops mixed, 1 connection")
  assert.include(table, "mean batch of the first measure")
  assert.deepEqual(JSON.parse(jsonReport(report)).comparisons.length, 6)
})

test("a median is the middle of what was measured", () => {
  assert.strictEqual(median([3, 1, 2]), 2)
  assert.strictEqual(median([4, 1, 2, 3]), 2.5)
})

test("a target is met at its very value", () => {
  const run = (perSecond: number) => ({
    perSecond,
    p50Millis: 1,
    p99Millis: 2,
    cpuMicros: undefined
  })
  const rate = (ours: number) => isMet(verdict("rate", run(ours), run(100), { atLeast: 3 }))
  assert.strictEqual(rate(300), true)
  assert.strictEqual(rate(299), false)
  assert.strictEqual(isMet(verdict("p50", run(1), run(1), undefined)), undefined)
})

test("the command line chooses the plan", () => {
  assert.isUndefined(readPlan(["--help"]))
  assert.strictEqual(readPlan([])?.connections, 64)
  assert.isBelow(
    readPlan(["--quick"])?.mixed.seconds ?? Number.NaN,
    readPlan([])?.mixed.seconds ?? 0
  )
  assert.strictEqual(readPlan(["--large"])?.largeRecords, 1_000_000)
  assert.strictEqual(readPlan(["--json", "figures.json"])?.jsonFile, "figures.json")
  assert.throws(() => readPlan(["--fast"]), /--fast/)
})
