// What the operations port tells of requests: how many by method and status, and how long they took.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { until } from "../faults/database.ts"
import { readMetric } from "../support/metrics.ts"
import { withClient } from "../support/postgres.ts"
import { startService, type TestService } from "../support/service.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const requests = (method: string, status: string) =>
  readMetric(service, `ledger_http_requests_total{method="${method}",status="${status}"}`)
const timed = () => readMetric(service, "ledger_http_request_seconds_count")

/** Waits, because a request counts when its connection has done with it. */
const untilCounted = (method: string, status: string, count: number) =>
  until(`${count} ${method} ${status}`, async () => (await requests(method, status)) === count)

describe("the metrics of requests", () => {
  it("count them by method and status", async () => {
    const before = await timed()
    const ok = await requests("GET", "200")
    await service.get("/status")
    await service.get("/status")
    await untilCounted("GET", "200", ok + 2)
    const missing = await requests("GET", "404")
    await service.get("/nothing/here")
    await untilCounted("GET", "404", missing + 1)
    const refused = await requests("POST", "400")
    await service.perform({ op: "unheard of" })
    await untilCounted("POST", "400", refused + 1)
    assert.strictEqual(await timed(), before + 4)
  })

  it("have one series for the methods that nobody uses", async () => {
    const before = await requests("other", "401")
    for (const method of ["PURGE", "PROPFIND"]) {
      const response = await fetch(`${service.baseUrl}/status`, { method })
      assert.strictEqual(response.status, 401)
    }
    await untilCounted("other", "401", before + 2)
  })

  it("count callers that left before the answer", async () => {
    const before = await requests("POST", "none")
    await withClient(service.database.url, async (client) => {
      await client.query("begin")
      await client.query("select from workspace_heads for update")
      const hangUp = new AbortController()
      const left = service
        .request("/ops", {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ op: "capture", body: "nobody waits for this" }),
          signal: hangUp.signal
        })
        .catch(() => "left")
      await until("it waits for the head", async () => {
        const { rowCount } = await client.query(
          "select from pg_stat_activity where wait_event_type = 'Lock'"
        )
        return rowCount !== 0
      })
      hangUp.abort()
      assert.strictEqual(await left, "left")
      await untilCounted("POST", "none", before + 1)
      await client.query("rollback")
    })
  })
})
