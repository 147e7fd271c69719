// Ten thousand rounds of claims at once, spread over two replicas: each round has one winner.
import { afterAll, assert, beforeAll, it } from "vitest"
import { withClient } from "../support/postgres.ts"
import { startService, type TestService } from "../support/service.ts"

const ROUNDS = Number(process.env.PROVE_CLAIM_ROUNDS ?? 10_000)
const CLAIMS = 8
const ROUNDS_AT_ONCE = 16

let replicas: ReadonlyArray<TestService>
beforeAll(async () => {
  const first = await startService()
  replicas = [first, await startService({ database: first.database })]
})
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.stop()
})

const replica = (index: number): TestService => {
  const found = replicas[index % replicas.length]
  if (found === undefined) throw new Error("no replica was started")
  return found
}

const runRound = async (round: number): Promise<void> => {
  const id = await replica(round).record({ op: "commit", title: `round ${round}` })
  const replies = await Promise.all(
    Array.from({ length: CLAIMS }, (_, index) =>
      replica(index).perform({ op: "claim", id, owner: `agent:${index}` })
    )
  )
  const statuses = replies.map(({ status }) => status).toSorted()
  assert.deepStrictEqual(statuses, [200, ...Array.from({ length: CLAIMS - 1 }, () => 422)])
  const winner = replies.findIndex(({ status }) => status === 200)
  const { body } = await replica(round + 1).get(`/commitments/${id}`)
  assert.deepInclude(body.data, { state: "claimed", owner: `agent:${winner}` })
}

it(`of ${CLAIMS} claims at once one is accepted, in each of ${ROUNDS} rounds`, async () => {
  let next = 0
  const runRounds = async () => {
    while (next < ROUNDS) await runRound(next++)
  }
  await Promise.all(Array.from({ length: ROUNDS_AT_ONCE }, runRounds))
  const { rows } = await withClient(replica(0).database.url, (client) =>
    client.query(
      `select count(*)::int as entries, count(*) filter (where op = 'claim')::int as claims,
         max(seq)::int as last,
         count(distinct record_id) filter (where op = 'claim')::int as claimed
       from ledger_entries`
    )
  )
  assert.deepStrictEqual(rows, [
    { entries: 2 * ROUNDS, claims: ROUNDS, last: 2 * ROUNDS, claimed: ROUNDS }
  ])
})
