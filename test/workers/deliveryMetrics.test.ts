// What the operations port tells of webhooks: attempts of this replica, and what waits in the outbox.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { until } from "../faults/database.ts"
import { readMetric } from "../support/metrics.ts"
import { withClient } from "../support/postgres.ts"
import { startService, type TestService } from "../support/service.ts"
import { claimOne, listen, readDeliveries } from "./deliveries.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const metric = (line: string) => readMetric(service, line)
const attempts = (outcome: string) => metric(`ledger_delivery_attempts_total{outcome="${outcome}"}`)

const execute = (text: string, values: ReadonlyArray<unknown> = []) =>
  withClient(service.database.url, (client) => client.query(text, [...values]))

describe("the metrics", () => {
  it("count attempts by what became of the delivery, and how long they took", async () => {
    await using receiver = await listen(service)
    await claimOne(service)
    await receiver.next()
    await until("one was delivered", async () => (await attempts("delivered")) === 1)
    receiver.answer(500)
    await claimOne(service)
    await receiver.next()
    await until("one is to be retried", async () => (await attempts("to_be_retried")) === 1)
    assert.strictEqual(await attempts("failed"), 0)
    assert.strictEqual(await metric("ledger_delivery_attempt_seconds_count"), 2)
  })

  it("tell how much is pending, and for how long something has been due", async () => {
    await using receiver = await listen(service, {}, { answer: 500 })
    await claimOne(service)
    await receiver.next()
    await until("it waits", async () => (await metric("ledger_deliveries_pending")) >= 1)
    assert.strictEqual(await metric("ledger_delivery_lag_seconds"), 0)
    // Another replica holds it, and is late with it.
    await execute(
      `update webhook_deliveries set due_at = $2, claimed_by = 'another', claim_token = 'another',
         claimed_until = 'infinity' where endpoint_id = $1 and status = 'pending'`,
      [receiver.id, new Date(Date.now() - 60_000)]
    )
    const lag = await metric("ledger_delivery_lag_seconds")
    assert.isAtLeast(lag, 59)
    assert.isBelow(lag, 120)
    await execute("update webhook_endpoints set enabled = false where id = $1", [receiver.id])
    assert.strictEqual(await metric("ledger_delivery_lag_seconds"), 0)
  })

  it("count what is pending", async () => {
    const rows = await readDeliveries(service.database.url)
    const pending = rows.filter(({ status }) => status === "pending")
    assert.strictEqual(await metric("ledger_deliveries_pending"), pending.length)
  })
})
