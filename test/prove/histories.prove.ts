// A thousand random histories against the model: `npm test` checks fifty.
import { afterAll, beforeAll, it } from "vitest"
import { checkHistories } from "../model/histories.ts"
import { startService, type TestService } from "../support/service.ts"

const HISTORIES = Number(process.env.PROVE_HISTORIES ?? 1_000)

let replicas: ReadonlyArray<TestService>
beforeAll(async () => {
  const first = await startService()
  replicas = [first, await startService({ database: first.database })]
})
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.stop()
})

it(`the service and the model agree on ${HISTORIES} random histories`, () =>
  checkHistories(replicas, HISTORIES))
