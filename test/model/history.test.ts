// Random histories by several clients on two replicas fit the model of the specification.
import { afterAll, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { checkHistories } from "./histories.ts"

const HISTORIES = 50

let replicas: ReadonlyArray<TestService>
beforeAll(async () => {
  const first = await startService()
  replicas = [first, await startService({ database: first.database })]
})
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.stop()
})

describe("the service and the model of the specification", () => {
  it(`agree on ${HISTORIES} random histories`, () => checkHistories(replicas, HISTORIES), 300_000)
})
