// The bench of deliveries, in the smallest run that touches every part of it. No speed is asserted:
// what is held is that all four senders deliver and log everything, and that the figures are there.
import { Effect, Logger } from "effect"
import { assert, test } from "vitest"
import { readDeliveriesPlan } from "../../bench/deliveries/plan.ts"
import { formatDeliveries, jsonDeliveries } from "../../bench/deliveries/report.ts"
import { benchDeliveries } from "../../bench/deliveries.ts"

test("a run delivers the same backlog with the service, both queues and none", async () => {
  const report = await benchDeliveries({
    endpoints: 2,
    backlog: 60,
    warmUp: 20,
    rounds: 1,
    moves: 6,
    jsonFile: undefined
  }).pipe(Effect.provide(Logger.layer([])), Effect.runPromise)

  assert.deepEqual(
    [report.ours, ...report.peers, report.bare].map(({ name }) => name),
    ["ours", "graphile-worker", "pg-boss", "no queue, no log"]
  )
  for (const { name, perSecond } of [report.ours, ...report.peers, report.bare]) {
    assert.isAbove(perSecond, 0, name)
  }
  const { fromAnswer, fromRequest } = report.latency
  assert.isAbove(fromRequest.p50Millis, fromAnswer.p50Millis)
  const { alone, beside, hanging, healthy } = report.neighbours
  assert.deepEqual([healthy, hanging], [5, 5])
  assert.isAbove(alone.p99Millis, 0)
  assert.isAbove(beside.p99Millis, 0)
  assert.include(formatDeliveries(report), "ours to the better peer")
  assert.strictEqual(JSON.parse(jsonDeliveries(report)).ratio, report.ratio)
})

test("the command line chooses the plan of the deliveries", () => {
  assert.isUndefined(readDeliveriesPlan(["--help"]))
  assert.isBelow(
    readDeliveriesPlan(["--quick"])?.backlog ?? Number.NaN,
    readDeliveriesPlan([])?.backlog ?? 0
  )
  assert.throws(() => readDeliveriesPlan(["--fast"]), /--fast/)
})
