import { assert, it } from "@effect/vitest"
import { createDatabase, withClient } from "../support/postgres.ts"

it("clones", async () => {
  const t = performance.now()
  const all = await Promise.all([createDatabase(), createDatabase(), createDatabase()])
  console.log(
    "3 databases",
    Math.round(performance.now() - t),
    all[0]?.url.replace(/:[^:@]*@/, ":…@")
  )
  const t2 = performance.now()
  const one = await createDatabase()
  console.log("1 more", Math.round(performance.now() - t2))
  assert.strictEqual(
    await withClient(one.connection, async (c) => (await c.query("select 1 as x")).rows[0].x),
    1
  )
  await one.drop()
  await Promise.all(all.map((d) => d.drop()))
})
