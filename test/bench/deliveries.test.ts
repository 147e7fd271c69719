// The bench of deliveries, in the smallest run that touches every part of it. No speed is asserted:
// what is held is that all three senders deliver and log everything, and that the figures are there.
import { Effect, Logger } from "effect"
import { assert, test } from "vitest"
import { readDeliveriesPlan } from "../../bench/deliveries/plan.ts"
import { formatDeliveries, jsonDeliveries } from "../../bench/deliveries/report.ts"
import { benchDeliveries } from "../../bench/deliveries.ts"

test("a run delivers the same backlog with the service and both queues", async () => {
  const report = await benchDeliveries({
    endpoints: 2,
    backlog: 60,
    warmUp: 20,
    rounds: 1,
    moves: 6,
    jsonFile: undefined
  }).pipe(Effect.provide(Logger.layer([])), Effect.runPromise)

  assert.deepEqual(
    [report.ours, ...report.peers].map(({ name }) => name),
    ["ours", "graphile-worker", "pg-boss"]
  )
  for (const { name, perSecond } of [report.ours, ...report.peers]) {
    assert.isAbove(perSecond, 0, name)
  }
  const { fromAnswer, fromRequest } = report.latency
  assert.isAbove(fromRequest.p50Millis, fromAnswer.p50Millis)
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
