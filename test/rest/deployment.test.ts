// What settings change at the REST paths: a proxy in front that ends TLS, and another limit of bodies.
import { assert, it } from "vitest"
import { startService } from "../support/service.ts"
import { assertPerformed, assertRefused } from "./expectations.ts"

it("behind a proxy, only what came to it by HTTPS is served", async () => {
  await using service = await startService({ env: { LEDGER_BEHIND_PROXY: "true" } })
  const forwarded = { "X-Forwarded-Proto": "https" }
  assert.strictEqual((await service.get("/status", forwarded)).status, 200)
  const refused: ReadonlyArray<Record<string, string>> = [
    {},
    { "X-Forwarded-Proto": "http" },
    { "X-Forwarded-Proto": "" },
    { Forwarded: "proto=https" }
  ]
  for (const headers of refused) {
    for (const path of ["/status", "/trpc/status"]) {
      assertRefused(await service.get(path, headers), "INVALID_REQUEST", ["HTTPS"])
    }
    const reply = await service.perform({ op: "capture", body: "x" }, headers)
    assertRefused(reply, "INVALID_REQUEST", ["HTTPS"])
  }
  const status = await service.get("/status", forwarded)
  assert.strictEqual(status.body.data.ledger.total_operations, 0)
})

it("not behind a proxy, the header means nothing", async () => {
  await using service = await startService()
  const reply = await service.get("/status", { "X-Forwarded-Proto": "http" })
  assert.strictEqual(reply.status, 200)
})

it.each([
  ["1KiB", 1024],
  ["10MiB", 10 * 1024 * 1024]
])("LEDGER_MAX_BODY=%s is the limit of both doors", async (setting, limit) => {
  await using service = await startService({ env: { LEDGER_MAX_BODY: setting } })
  const send = (path: string, size: number) =>
    service.request(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"op":"capture","body":"x"}'.padEnd(size, " ")
    })
  assertPerformed(await send("/ops", limit))
  assertRefused(await send("/ops", limit + 1), "INVALID_REQUEST", [String(limit)])
  assert.strictEqual((await send("/trpc/ops", limit)).status, 200)
  const tooLarge = await send("/trpc/ops", limit + 1)
  assert.deepStrictEqual([tooLarge.status, tooLarge.body.error.data.code], [400, "INVALID_REQUEST"])
})
