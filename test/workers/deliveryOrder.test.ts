// Who waits for whom: first attempts for one commitment for each other, nobody for a retry, and no
// endpoint for another.
import { setTimeout as pause } from "node:timers/promises"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { until } from "../faults/database.ts"
import { withClient } from "../support/postgres.ts"
import type { ReceivedRequest } from "../support/receiver.ts"
import { startService, type TestService } from "../support/service.ts"
import {
  claimOne,
  close,
  eventOf,
  type Listener,
  listen,
  readDeliveries,
  untilEnded
} from "./deliveries.ts"

const IN_FLIGHT = 4
const TIMEOUT_MILLISECONDS = 5_000
const FOREVER = { after: new Promise(() => {}) }

let service: TestService
beforeAll(async () => {
  service = await startService({
    env: { LEDGER_WEBHOOK_TIMEOUT: `${TIMEOUT_MILLISECONDS} millis` }
  })
})
afterAll(() => service.stop())

const statesOf = (requests: ReadonlyArray<ReceivedRequest>) =>
  requests.map((request) => eventOf(request).commitment.currentState)

describe("one endpoint", () => {
  it("gets claim before close, also when it answers the claim late", async () => {
    const answer = Promise.withResolvers<void>()
    await using receiver = await listen(service)
    receiver.answerNext({ after: answer.promise })
    const id = await claimOne(service)
    await receiver.next()
    await service.record(close(id))
    const other = await claimOne(service)
    // Another commitment's callback overtakes; this one's does not.
    assert.strictEqual(eventOf(await receiver.next()).commitment.id, other)
    assert.lengthOf(receiver.received, 2)
    answer.resolve()
    const { commitment } = eventOf(await receiver.next())
    assert.deepInclude(commitment, { id, currentState: "closed" })
    await untilEnded(service.database.url)
  })

  it("gets the close after the claim's first attempt has failed: a retry does not block it", async () => {
    await using receiver = await listen(service)
    receiver.answerNext(500)
    const id = await claimOne(service)
    await service.record(close(id))
    assert.deepStrictEqual(statesOf(await receiver.take(2)), ["claimed", "closed"])
    const rows = (await readDeliveries(service.database.url)).filter(
      (row) => row.endpoint_id === receiver.id
    )
    assert.deepInclude(rows[0], { status: "pending", attempts: 1 })
  })

  it("gets at most four requests at once, and all in the end", async () => {
    let open = 0
    let most = 0
    const answer = {
      get after() {
        open += 1
        most = Math.max(most, open)
        return pause(5).then(() => {
          open -= 1
        })
      }
    }
    await using receiver = await listen(service, {}, { answer })
    await Promise.all(Array.from({ length: 100 }, () => claimOne(service)))
    await receiver.take(100)
    assert.strictEqual(most, IN_FLIGHT)
  })

  it("gets each of many commitments in order, at full speed", async () => {
    await using receiver = await listen(service)
    await Promise.all(
      Array.from({ length: 60 }, async () => {
        const id = await claimOne(service)
        await service.record(close(id))
        await service.record({ op: "reopen", id })
        await service.record({ op: "claim", id, owner: "agent:two" })
      })
    )
    const byCommitment = Map.groupBy(
      await receiver.take(180),
      (request) => eventOf(request).commitment.id
    )
    for (const requests of byCommitment.values()) {
      assert.deepStrictEqual(statesOf(requests), ["claimed", "closed", "claimed"])
    }
  })

  it("gets a first attempt before a hundred retries that are due", async () => {
    await using receiver = await listen(service, {}, { answer: 500 })
    await Promise.all(Array.from({ length: 100 }, () => claimOne(service)))
    await receiver.take(100)
    await until("all have failed once", async () =>
      (await readDeliveries(service.database.url))
        .filter((row) => row.endpoint_id === receiver.id)
        .every((row) => row.attempts === 1)
    )
    receiver.answer({
      get after() {
        return pause(100)
      }
    })
    // The outage is over: all of its retries are due at once, and the receiver is slow.
    await withClient(service.database.url, (client) =>
      client.query(
        `update webhook_deliveries set due_at = clock_timestamp() - interval '1 minute'
         where endpoint_id = $1 and status = 'pending'`,
        [receiver.id]
      )
    )
    await receiver.take(40)
    const id = await claimOne(service)
    const before = receiver.received.length
    const place = await until("the first attempt came", async () => {
      const index = receiver.received.findIndex((request) => eventOf(request).commitment.id === id)
      return index !== -1 && { index }
    })
    assert.isBelow(place.index - before, 20, "retries overtook a first attempt")
  })
})

/** How often the service looks for due deliveries in this time: each look reads the endpoints. */
const looksDuring = (milliseconds: number) =>
  withClient(service.database.url, async (client) => {
    const count = async () => {
      await client.query("select pg_stat_clear_snapshot()")
      const { rows } = await client.query(
        `select (seq_scan + idx_scan)::int as count from pg_stat_user_tables
         where relname = 'webhook_endpoints'`
      )
      return rows[0].count as number
    }
    const before = await count()
    await pause(milliseconds)
    return (await count()) - before
  })

describe("an idle service looks into the outbox now and then", () => {
  it("also while an endpoint with work to do is disabled", async () => {
    await using receiver = await listen(service, {}, { answer: 500 })
    await claimOne(service)
    await receiver.next()
    await withClient(service.database.url, async (client) => {
      await client.query("update webhook_endpoints set enabled = false where id = $1", [
        receiver.id
      ])
      await client.query(
        "update webhook_deliveries set due_at = clock_timestamp() where status = 'pending'"
      )
    })
    await pause(1_500)
    assert.isBelow(await looksDuring(2_000), 20)
  })

  it("also while a receiver hangs and more waits for it", async () => {
    await using receiver = await listen(service, {}, { answer: FOREVER })
    await Promise.all(Array.from({ length: 60 }, () => claimOne(service)))
    await receiver.take(IN_FLIGHT)
    await pause(500)
    assert.isBelow(await looksDuring(2_000), 20)
  })
})

describe("what waited for a disabled endpoint", () => {
  it("is sent one after another for one commitment, without a second between them", async () => {
    await using receiver = await listen(service, {}, { answer: FOREVER })
    const id = await claimOne(service)
    const held = await receiver.next()
    for (let round = 0; round < 6; round++) {
      await service.record({ op: "release", id })
      await service.record({ op: "claim", id, owner: "agent:two" })
    }
    const endpoint = (enabled: boolean) =>
      withClient(service.database.url, (client) =>
        client.query(
          `with given_back as (
             update webhook_deliveries set claimed_by = null, claim_token = null, claimed_until = null
             where endpoint_id = $1 and status = 'pending'
           ) update webhook_endpoints set enabled = $2 where id = $1`,
          [receiver.id, enabled]
        )
      )
    await endpoint(false)
    held.socket.destroy()
    // Slower than the look that follows one which has found something.
    receiver.answer({
      get after() {
        return pause(100)
      }
    })
    await pause(1_500)
    const start = performance.now()
    await endpoint(true)
    await receiver.take(7)
    assert.isBelow(performance.now() - start, 3_500)
  })
})

describe("a receiver that lets requests time out", () => {
  it("keeps a few deliveries waiting on this replica, the others are free for any", async () => {
    await using impatient = await startService({ env: { LEDGER_WEBHOOK_TIMEOUT: "1 second" } })
    const receiver = await listen(impatient, {}, { answer: FOREVER })
    const claimed = async () => {
      const rows = await readDeliveries(impatient.database.url)
      return rows.filter((row) => row.claimed_by !== null).length
    }
    await Promise.all(Array.from({ length: 40 }, () => claimOne(impatient)))
    await receiver.take(IN_FLIGHT)
    assert.isAbove(await claimed(), IN_FLIGHT)
    await until("all but a few are free", async () => (await claimed()) <= IN_FLIGHT)
    assert.isBelow(receiver.received.length, 20, "they were free before they had been tried")
    await receiver.stop()
  })
})

describe("a receiver that times out while a close is being committed", () => {
  it("gets the claim before the close all the same", async () => {
    await using impatient = await startService({ env: { LEDGER_WEBHOOK_TIMEOUT: "1 second" } })
    const receiver = await listen(impatient, {}, { answer: FOREVER })
    const ids: Array<string> = []
    for (let index = 0; index < 12; index++) ids.push(await claimOne(impatient))
    const [last = ""] = ids.slice(-1)
    await receiver.take(IN_FLIGHT)
    await withClient(impatient.database.url, async (client) => {
      await client.query(
        `create function wait_for_test() returns trigger language plpgsql as $$
         begin perform pg_advisory_xact_lock(4712); return null; end $$;
         create trigger wait_for_test after insert on webhook_deliveries for each row
           execute function wait_for_test()`
      )
      await client.query("select pg_advisory_lock(4712)")
      // Claimed for this replica, which holds the claim's delivery when it is written.
      const closing = impatient.record(close(last))
      await until("what waited is given back", async () => {
        const { rows } = await client.query(
          "select claim_token from webhook_deliveries where commitment_id = $1",
          [last]
        )
        return rows.length === 1 && rows[0].claim_token === null
      })
      receiver.answer(200)
      await client.query("select pg_advisory_unlock(4712)")
      await closing
    })
    await until("the close came", () =>
      Promise.resolve(statesOf(receiver.received).includes("closed"))
    )
    const ofLast = receiver.received.filter((one) => eventOf(one).commitment.id === last)
    assert.deepStrictEqual(statesOf(ofLast), ["claimed", "closed"])
    await receiver.stop()
  })
})

describe("bad neighbours", () => {
  const listenFive = (options: Parameters<typeof listen>[2] = {}) =>
    Promise.all(Array.from({ length: 5 }, () => listen(service, {}, options)))

  /** Milliseconds from before a claim to the arrival of its callback at each receiver. */
  const arrivals = async (receivers: ReadonlyArray<Listener>, count: number) => {
    const taken: Array<number> = []
    for (let index = 0; index < count; index++) {
      const id = await service.record({ op: "commit", title: "measured" })
      const start = performance.now()
      const reply = service.record({ op: "claim", id, owner: "agent:one" })
      const arrived = receivers.map(async (receiver) => {
        await receiver.next()
        taken.push(performance.now() - start)
      })
      await Promise.all([...arrived, reply])
    }
    return taken
  }

  // How little they slow the others is measured by `npm run bench -- deliveries`. Here: nobody waits for
  // one of their timeouts.
  it("that hang on every request do not keep the others waiting", async () => {
    const healthy = await listenFive()
    const hanging = await listenFive({ answer: FOREVER })
    const taken = await arrivals(healthy, 60)
    for (const { received } of hanging) assert.isAtLeast(received.length, IN_FLIGHT)
    assert.isBelow(Math.max(...taken), TIMEOUT_MILLISECONDS)
    for (const receiver of [...healthy, ...hanging]) await receiver[Symbol.asyncDispose]()
  })

  it("seventy that hang at once do not fill the places of one that answers", async () => {
    await using many = await startService()
    const answer = (_: unknown, request: ReceivedRequest) => {
      // Nothing: it hangs.
      void request
    }
    const hanging = await listen(many, {}, { answer })
    for (let index = 1; index < 70; index++) {
      await many.record({
        op: "webhook.register",
        url: `${hanging.url}?${index}`,
        secret: "the secret of the tests"
      })
    }
    await using healthy = await listen(many)
    const start = performance.now()
    for (let index = 0; index < 90; index++) await claimOne(many)
    await healthy.take(90)
    // Only the default deadline of 10 seconds would tell that they hang.
    assert.isBelow(performance.now() - start, 9_000)
    await hanging.stop()
  }, 30_000)
})
