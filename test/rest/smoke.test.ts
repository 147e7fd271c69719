import { afterAll, assert, beforeAll, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
let service: TestService
beforeAll(async () => { service = await startService() })
afterAll(() => service.stop())
it("works", async () => {
  const id = await service.record({ op: "commit", title: "x" })
  const one = await service.get(`/commitments/${id}`)
  assert.strictEqual(one.body.data.state, "open")
})
