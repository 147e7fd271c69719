// Care of webhooks and the log, as administrators reach them: list, update, rotate, test, resend,
// remove, retention; and what is in the outbox when moves share a batch.
import { setTimeout as pause } from "node:timers/promises"
import { Duration, Effect } from "effect"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { DeliveryRetention, removeOldDeliveries } from "../../src/domain/housekeeping.ts"
import { deleteEndedDeliveries } from "../../src/domain/store/deliveryLog.ts"
import { until } from "../faults/database.ts"
import { assertFails, clientOf } from "../rpc/clients.ts"
import { openLedger } from "../support/ledger.ts"
import { withClient } from "../support/postgres.ts"
import { closeOf } from "../support/receiver.ts"
import { startService, type TestService } from "../support/service.ts"
import {
  assertCallback,
  claimOne,
  close,
  eventOf,
  type Listener,
  listen,
  readDeliveries,
  SECRET,
  serviceSignature,
  untilEnded
} from "../workers/deliveries.ts"

let service: TestService
let settings: ReturnType<typeof clientOf>["settings"]
beforeAll(async () => {
  service = await startService({ env: { LEDGER_WEBHOOK_RETRY_DELAYS: "1 hour" } })
  settings = clientOf(service).settings
})
afterAll(() => service.stop())

const query = (text: string, values: ReadonlyArray<unknown> = []) =>
  withClient(service.database.url, async (client) => (await client.query(text, [...values])).rows)

const logOf = ({ id }: Listener) => settings.deliveries.list.query({ webhookId: id })
const only = async (listener: Listener) => {
  const [delivery, ...others] = await logOf(listener)
  assert.lengthOf(others, 0)
  if (delivery === undefined) throw new Error("nothing is in the log")
  return delivery
}
const viewOf = async ({ id }: Listener) =>
  (await settings.webhooks.list.query()).find((webhook) => webhook.id === id)

/** All attempts that are left are used up, without waiting for them. */
const failForGood = async (listener: Listener) => {
  listener.answer(500)
  await claimOne(service)
  await listener.next()
  await until("it has failed once", async () => (await only(listener)).attempts.length === 1)
  await query("update webhook_deliveries set due_at = $2 where endpoint_id = $1", [
    listener.id,
    new Date(0)
  ])
  await listener.next()
  await until("it has failed", async () => (await only(listener)).status === "failed")
  return only(listener)
}

describe("the list of webhooks", () => {
  it("shows everything but the secret", async () => {
    await using receiver = await listen(service, { states: ["closed"] })
    const view = await viewOf(receiver)
    assert.deepInclude(view, {
      url: receiver.url,
      events: ["commitment.state_changed"],
      states: ["closed"],
      enabled: true,
      previous_secret_until: null
    })
    assert.notInclude(JSON.stringify(await settings.webhooks.list.query()), SECRET)
  })

  it("add makes a strong secret, shows it once, and signs with it", async () => {
    await using receiver = await listen(service)
    await settings.webhooks.remove.mutate({ id: receiver.id })
    const { id, secret } = await settings.webhooks.add.mutate({ url: receiver.url })
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    await claimOne(service)
    assertCallback(await receiver.next(), { secret })
    await settings.webhooks.remove.mutate({ id })
  })
})

describe("update", () => {
  it("disables and enables: what happens meanwhile is not told, not even later", async () => {
    await using receiver = await listen(service)
    await settings.webhooks.update.mutate({ id: receiver.id, enabled: false })
    const missed = await claimOne(service)
    await settings.webhooks.update.mutate({ id: receiver.id, enabled: true })
    const told = await claimOne(service)
    assert.strictEqual(eventOf(await receiver.next()).commitment.id, told)
    assert.notInclude(
      receiver.received.map((one) => eventOf(one).commitment.id),
      missed
    )
  })

  it("a disabled webhook keeps its retries for later", async () => {
    await using receiver = await listen(service)
    receiver.answerNext(500)
    await claimOne(service)
    await receiver.next()
    await until("it has failed", async () => (await only(receiver)).attempts.length === 1)
    await settings.webhooks.update.mutate({ id: receiver.id, enabled: false })
    await query("update webhook_deliveries set due_at = $2 where endpoint_id = $1", [
      receiver.id,
      new Date(0)
    ])
    await pause(1_500)
    assert.lengthOf(receiver.received, 1)
    await settings.webhooks.update.mutate({ id: receiver.id, enabled: true })
    assertCallback(await receiver.next(), { attempt: 2 })
  })

  it("changes the filter, and leaves what is not given", async () => {
    await using receiver = await listen(service, { states: ["closed"] })
    await settings.webhooks.update.mutate({ id: receiver.id, states: ["claimed"] })
    await claimOne(service)
    assert.strictEqual(eventOf(await receiver.next()).commitment.currentState, "claimed")
    await settings.webhooks.update.mutate({ id: receiver.id, enabled: true })
    assert.deepInclude(await viewOf(receiver), { states: ["claimed"], enabled: true })
    await settings.webhooks.update.mutate({ id: receiver.id, states: [] })
    await service.record(close(await claimOne(service)))
    assert.lengthOf(await receiver.take(2), 2)
  })

  it("that happens together with a rotation does not bring the old secret back", async () => {
    await using receiver = await listen(service)
    await using replica = await startService({ database: service.database })
    const { id } = receiver
    const { rotated } = await withClient(service.database.url, async (client) => {
      await client.query("begin")
      await client.query("select from webhook_endpoints where id = $1 for update", [id])
      const waiting = (count: number) =>
        until(`${count} wait for the endpoint`, async () => {
          const rows = await query(
            `select from pg_stat_activity where wait_event_type = 'Lock'
             and datname = current_database()`
          )
          return rows.length >= count
        })
      const rotating = settings.webhooks.rotate.mutate({ id })
      await waiting(1)
      const updating = clientOf(replica).settings.webhooks.update.mutate({ id, enabled: false })
      await waiting(2)
      await client.query("commit")
      await updating
      return { rotated: await rotating }
    })
    const [row] = await query("select secret from webhook_endpoints where id = $1", [id])
    assert.strictEqual(row.secret, rotated.secret)
  })

  it("of an unknown webhook is NOT_FOUND", async () => {
    const id = "whk_01h455vb4pex5vsknk084sn02q"
    await assertFails(settings.webhooks.update.mutate({ id, enabled: false }), "NOT_FOUND", 404)
    await assertFails(settings.webhooks.rotate.mutate({ id }), "NOT_FOUND", 404)
    await assertFails(settings.webhooks.test.mutate({ id }), "NOT_FOUND", 404)
    await assertFails(settings.webhooks.remove.mutate({ id }), "NOT_FOUND", 404)
  })
})

it("nobody finds the webhook or the delivery of another workspace", async () => {
  await using receiver = await listen(service)
  await claimOne(service)
  await receiver.next()
  await untilEnded(service.database.url)
  const { id } = await only(receiver)
  const { token, workspace } = await settings.workspaces.create.mutate({ name: "beside" })
  const beside = clientOf(service, { "X-Proxy-Token": token.token, "X-Workspace-Id": workspace.id })
  const { deliveries, webhooks } = beside.settings
  await assertFails(deliveries.get.query({ id }), "NOT_FOUND", 404, id)
  await assertFails(webhooks.test.mutate({ id: receiver.id }), "NOT_FOUND", 404, receiver.id)
  await assertFails(deliveries.list.query({ webhookId: receiver.id }), "NOT_FOUND", 404)
})

describe("rotate", () => {
  it("signs with both secrets while they overlap, and then with the new one", async () => {
    await using receiver = await listen(service)
    const { previous_secret_until, secret } = await settings.webhooks.rotate.mutate({
      id: receiver.id,
      overlapHours: 2
    })
    const hours = (Date.parse(previous_secret_until ?? "") - Date.now()) / 3_600_000
    assert.approximately(hours, 2, 0.1)
    await claimOne(service)
    const during = await receiver.next()
    assertCallback(during, { secret })
    assert.strictEqual(
      during.headers["x-service-signature-previous"],
      serviceSignature(during.body, SECRET)
    )
    assert.match(String(during.headers["webhook-signature"]), /^v1,\S+ v1,\S+$/)
    await query("update webhook_endpoints set previous_secret_until = $2 where id = $1", [
      receiver.id,
      new Date()
    ])
    await claimOne(service)
    const after = await receiver.next()
    assertCallback(after, { secret })
    assert.notProperty(after.headers, "x-service-signature-previous")
    assert.match(String(after.headers["webhook-signature"]), /^v1,\S+$/)
  })

  it("without an overlap the old secret signs no more", async () => {
    await using receiver = await listen(service)
    const { id } = receiver
    await settings.webhooks.rotate.mutate({ id, overlapHours: 0, secret: "given" })
    await claimOne(service)
    const request = await receiver.next()
    assertCallback(request, { secret: "given" })
    assert.notProperty(request.headers, "x-service-signature-previous")
  })
})

describe("a test event", () => {
  it("is a signed callback of a claim that never was, in the log like any other", async () => {
    await using receiver = await listen(service)
    const { delivery_id, event_id, waits } = await settings.webhooks.test.mutate({
      id: receiver.id
    })
    assert.isFalse(waits)
    const request = await receiver.next()
    assertCallback(request)
    assert.strictEqual(request.headers["webhook-id"], event_id)
    const { commitment, event } = eventOf(request)
    assert.strictEqual(event, "commitment.state_changed")
    assert.deepInclude(commitment, { previousState: "open", currentState: "claimed" })
    assert.strictEqual((await service.get(`/commitments/${commitment.id}`)).status, 404)
    await untilEnded(service.database.url)
    assert.deepInclude(await only(receiver), { id: delivery_id, status: "delivered" })
  })
})

it("a test event to a disabled webhook waits, and says so", async () => {
  await using receiver = await listen(service)
  const { id } = receiver
  await settings.webhooks.update.mutate({ id, enabled: false })
  const { delivery_id, event_id, waits } = await settings.webhooks.test.mutate({ id })
  assert.isTrue(waits)
  assert.deepInclude(await only(receiver), { id: delivery_id, status: "pending", attempts: [] })
  await settings.webhooks.update.mutate({ id, enabled: true })
  assert.strictEqual((await receiver.next()).headers["webhook-id"], event_id)
})

describe("the log", () => {
  it("shows one delivery by its id, as the list does", async () => {
    await using receiver = await listen(service)
    await claimOne(service)
    await receiver.next()
    await untilEnded(service.database.url)
    const listed = await only(receiver)
    assert.lengthOf(listed.attempts, 1)
    assert.deepStrictEqual(await settings.deliveries.get.query({ id: listed.id }), listed)
  })

  it.each(["dlv_01h455vb4pex5vsknk084sn02q", "cmt_01h455vb4pex5vsknk084sn02q", "", "a\0b"])(
    "has no delivery %j",
    async (id) => {
      const call = settings.deliveries.get.query({ id })
      await assertFails(call, "NOT_FOUND", 404, "There is no delivery")
    }
  )

  it("tells what went wrong in the words of the layer where it did", async () => {
    await using receiver = await listen(service, {}, { answer: (socket) => socket.destroy() })
    await claimOne(service)
    await receiver.next()
    await until("it has failed", async () => (await only(receiver)).attempts.length === 1)
    const [attempt] = (await only(receiver)).attempts
    assert.deepInclude(attempt, { status: null, failure: "reset", detail: "other side closed" })
  })

  it("has no detail where the status tells it all", async () => {
    await using receiver = await listen(service, {}, { answer: 503 })
    await claimOne(service)
    await receiver.next()
    await until("it has failed", async () => (await only(receiver)).attempts.length === 1)
    const [attempt] = (await only(receiver)).attempts
    assert.deepInclude(attempt, { status: 503, failure: "status", detail: null })
  })

  it("shows every attempt of a delivery that failed", async () => {
    await using receiver = await listen(service)
    receiver.answerNext({ status: 503, body: "later" })
    const failed = await failForGood(receiver)
    assert.deepStrictEqual(
      failed.attempts.map(({ attempt, failure, response, status }) => [
        attempt,
        status,
        failure,
        response
      ]),
      [
        [1, 503, "status", "later"],
        [2, 500, "status", ""]
      ]
    )
    assert.strictEqual(failed.next_attempt_at, null)
    assert.strictEqual(failed.payload, receiver.received[0]?.text)
    for (const { duration_ms, started_at } of failed.attempts) {
      assert.isAtLeast(duration_ms, 0)
      assert.approximately(Date.parse(started_at), Date.now(), 20_000)
    }
  })

  it("is filtered by status and webhook, newest first, in pages", async () => {
    await using receiver = await listen(service)
    const ids: Array<string> = []
    for (let index = 0; index < 3; index++) ids.unshift(await claimOne(service))
    await receiver.take(3)
    await untilEnded(service.database.url)
    const commitments = async (filter: object) =>
      (await settings.deliveries.list.query({ webhookId: receiver.id, ...filter })).map(
        (delivery) => delivery.commitment_id
      )
    assert.deepStrictEqual(await commitments({ status: "delivered" }), ids)
    assert.deepStrictEqual(await commitments({ status: "failed" }), [])
    assert.deepStrictEqual(await commitments({ limit: 1, offset: 1 }), ids.slice(1, 2))
  })
})

describe("resend", () => {
  it("sends the same event again, with attempts of its own", async () => {
    await using receiver = await listen(service)
    const failed = await failForGood(receiver)
    receiver.answer(200)
    const { delivery_id } = await settings.deliveries.resend.mutate({ id: failed.id })
    const request = await receiver.next()
    assertCallback(request, { attempt: 1 })
    assert.strictEqual(request.headers["webhook-id"], failed.event_id)
    assert.strictEqual(request.text, failed.payload)
    await untilEnded(service.database.url)
    const log = await logOf(receiver)
    assert.deepStrictEqual(
      log.map(({ id, status }) => [id, status]),
      [
        [delivery_id, "delivered"],
        [failed.id, "failed"]
      ]
    )
  })

  it("is refused while an attempt is pending, also when two ask at once", async () => {
    await using receiver = await listen(service, {}, { answer: 500 })
    await claimOne(service)
    await receiver.next()
    const { id } = await only(receiver)
    await assertFails(settings.deliveries.resend.mutate({ id }), "VALIDATION_ERROR", 422)
    await query("update webhook_deliveries set status = 'failed' where id = $1", [id])
    const answers = await Promise.allSettled(
      Array.from({ length: 8 }, () => settings.deliveries.resend.mutate({ id }))
    )
    assert.strictEqual(answers.filter(({ status }) => status === "fulfilled").length, 1)
  })

  it("to a disabled webhook waits, and says so", async () => {
    await using receiver = await listen(service)
    const failed = await failForGood(receiver)
    receiver.answer(200)
    const { id } = receiver
    const since = failed.created_at
    await settings.webhooks.update.mutate({ id, enabled: false })
    const all = await settings.deliveries.resendFailed.mutate({ id, since })
    assert.isTrue(all.waits)
    await query(
      "update webhook_deliveries set status = 'failed', ended_at = due_at where id = $1",
      [all.delivery_ids[0]]
    )
    const { delivery_id, waits } = await settings.deliveries.resend.mutate({ id: failed.id })
    assert.isTrue(waits)
    await settings.webhooks.update.mutate({ id, enabled: true })
    assert.strictEqual((await receiver.next()).headers["webhook-id"], failed.event_id)
    await untilEnded(service.database.url)
    assert.deepInclude((await logOf(receiver))[0], { id: delivery_id, status: "delivered" })
    assert.isFalse((await settings.deliveries.resend.mutate({ id: failed.id })).waits)
  })

  it("of everything that failed since a time", async () => {
    await using receiver = await listen(service)
    const failed = await failForGood(receiver)
    receiver.answer(200)
    const { id } = receiver
    const later = new Date(Date.now() + 60_000).toISOString()
    const none = await settings.deliveries.resendFailed.mutate({ id, since: later })
    assert.deepStrictEqual(none, { delivery_ids: [], waits: false })
    const since = failed.created_at
    const { delivery_ids, waits } = await settings.deliveries.resendFailed.mutate({ id, since })
    assert.lengthOf(delivery_ids, 1)
    assert.isFalse(waits)
    assert.strictEqual((await receiver.next()).headers["webhook-id"], failed.event_id)
    await assertFails(
      settings.deliveries.resendFailed.mutate({ id, since: "yesterday" }),
      "INVALID_REQUEST",
      400
    )
  })
})

describe("remove", () => {
  it("cancels what waits, and keeps it in the log", async () => {
    await using receiver = await listen(service, {}, { answer: 500 })
    const id = await claimOne(service)
    await receiver.next()
    await until("it has failed", async () => (await only(receiver)).attempts.length === 1)
    await settings.webhooks.remove.mutate({ id: receiver.id })
    await service.record(close(id))
    const rows = (await readDeliveries(service.database.url)).filter(
      (row) => row.endpoint_id === receiver.id
    )
    assert.lengthOf(rows, 1)
    assert.deepInclude(rows[0], { status: "cancelled", claim_token: null })
    assert.isUndefined(await viewOf(receiver))
    const log = await settings.deliveries.list.query({ webhookId: receiver.id })
    assert.deepStrictEqual(
      log.map(({ status }) => status),
      ["cancelled"]
    )
  })

  it.each([
    ["removed", (id: string) => settings.webhooks.remove.mutate({ id })],
    ["disabled", (id: string) => settings.webhooks.update.mutate({ id, enabled: false })]
  ])("nothing more is started for a webhook that was %s", async (_, change) => {
    const answer = Promise.withResolvers<void>()
    await using receiver = await listen(service, {}, { answer: { after: answer.promise } })
    await Promise.all(Array.from({ length: 12 }, () => claimOne(service)))
    const sockets = (await receiver.take(4)).map(({ socket }) => socket)
    // What is under way ends; what waits longer than a moment is looked at again before it is sent.
    await pause(500)
    await change(receiver.id)
    answer.resolve()
    // Each connection is used for the next request, if there is one, until it is idle for a while.
    await Promise.all(sockets.map(closeOf))
    assert.lengthOf(receiver.received, 4)
  })

  it("is not held up by how much waits: it is cancelled in batches, each within the time of a statement", async () => {
    await using receiver = await listen(service, {}, { answer: 500 })
    await claimOne(service)
    await receiver.next()
    await until("it has failed", async () => (await only(receiver)).attempts.length === 1)
    await settings.webhooks.update.mutate({ id: receiver.id, enabled: false })
    await query(
      `insert into webhook_deliveries
         (workspace_id, id, endpoint_id, event_id, commitment_id, seq, status, attempts, due_at, created_at)
       select workspace_id, id || n, endpoint_id, event_id, commitment_id, seq, 'pending', n % 2,
         due_at, created_at
       from webhook_deliveries cross join generate_series(1, 4500) n where endpoint_id = $1`,
      [receiver.id]
    )
    // As slow as 100 times as many are: a statement may take 5 seconds.
    await query(
      `create function slowly() returns trigger language plpgsql as $$
       begin perform pg_sleep(0.0015); return new; end $$;
       create trigger slowly before update on webhook_deliveries for each row
         when (new.status = 'cancelled') execute function slowly()`
    )
    try {
      await settings.webhooks.remove.mutate({ id: receiver.id })
    } finally {
      await query("drop function slowly cascade")
    }
    const statuses = await query(
      "select status, count(*)::int from webhook_deliveries where endpoint_id = $1 group by 1",
      [receiver.id]
    )
    assert.deepStrictEqual(statuses, [{ status: "cancelled", count: 4501 }])
  }, 30_000)

  it("in the middle of a move leaves nothing pending for ever", async () => {
    await using receiver = await listen(service)
    await query(
      `create or replace function wait_for_test() returns trigger language plpgsql as $$
       begin perform pg_advisory_xact_lock(4711); return new; end $$;
       create trigger wait_for_test before insert on webhook_deliveries for each row
         execute function wait_for_test()`
    )
    await withClient(service.database.url, async (client) => {
      await client.query("select pg_advisory_lock(4711)")
      const claiming = claimOne(service)
      await until("the move waits", async () => {
        const { rowCount } = await client.query(
          "select 1 from pg_stat_activity where wait_event = 'advisory'"
        )
        return rowCount !== 0
      })
      const removing = settings.webhooks.remove.mutate({ id: receiver.id })
      // It either waits for the move, or is done before it.
      await Promise.race([removing, pause(500)])
      await client.query("select pg_advisory_unlock(4711)")
      await claiming
      await removing
      await client.query("drop trigger wait_for_test on webhook_deliveries")
    })
    await pause(1_500)
    const rows = (await readDeliveries(service.database.url)).filter(
      (row) => row.endpoint_id === receiver.id
    )
    for (const row of rows) assert.notStrictEqual(row.status, "pending")
  })
})

describe("retention", () => {
  beforeEach(() => untilEnded(service.database.url).catch(() => {}))
  it("removes what ended before a time, in batches, with attempts and events; nothing pending", async () => {
    await using ledger = await openLedger()
    const workspaceId = await ledger.workspace()
    const [endpoint] = await ledger.perform(workspaceId, [
      { op: "webhook.register", url: "https://example.org/", secret: SECRET }
    ])
    assert.isDefined(endpoint)
    for (let index = 0; index < 5; index++) {
      const [id] = await ledger.perform(workspaceId, [{ op: "commit", title: "old" }])
      await ledger.perform(workspaceId, [{ op: "claim", id, owner: "agent:one" }])
    }
    await withClient(ledger.database.url, async (client) => {
      await client.query(
        `update webhook_deliveries set status = 'delivered', ended_at = created_at, attempts = 1
         where id <> (select max(id) from webhook_deliveries)`
      )
      await client.query(
        `insert into webhook_attempts select workspace_id, id, 1, created_at, 1, 200, null, null, ''
         from webhook_deliveries where attempts = 1`
      )
    })
    const removeAfter = (retention: Duration.Input) =>
      ledger.run(
        Effect.orDie(removeOldDeliveries).pipe(
          Effect.provideService(DeliveryRetention, Duration.fromInputUnsafe(retention))
        )
      )
    assert.strictEqual(await removeAfter("1 hour"), 0)
    await pause(5)
    const removed: Array<number> = []
    for (let batch = 0; batch < 2; batch++) {
      removed.push(await ledger.run(Effect.orDie(deleteEndedDeliveries(Date.now(), 3))))
    }
    assert.deepStrictEqual(removed, [3, 1])
    assert.strictEqual(await removeAfter(0), 0)
    const left = await withClient(ledger.database.url, async (client) => {
      const { rows } = await client.query({
        text: `select (select count(*)::int from webhook_deliveries),
          (select count(*)::int from webhook_events), (select count(*)::int from webhook_attempts)`,
        rowMode: "array"
      })
      return rows[0]
    })
    assert.deepStrictEqual(left, [1, 1, 0])
  })

  it("is a setting, that the service keeps to by itself", async () => {
    await using forgetful = await startService({ env: { LEDGER_WEBHOOK_RETENTION: "1 second" } })
    await using receiver = await listen(forgetful)
    await claimOne(forgetful)
    await receiver.next()
    const log = () => clientOf(forgetful).settings.deliveries.list.query()
    await until("it is in the log as delivered", async () => {
      const [delivery] = await log()
      return delivery === undefined || delivery.status === "delivered"
    })
    await until("it is out of the log", async () => (await log()).length === 0)
  })
})

describe("moves that share a batch", () => {
  it("each have the evidence, the title and the tier of their own moment", async () => {
    await using ledger = await openLedger()
    const workspaceId = await ledger.workspace()
    const url = "https://example.org/"
    await ledger.perform(workspaceId, [{ op: "webhook.register", url, secret: SECRET }])
    const [id] = await ledger.perform(workspaceId, [{ op: "commit", title: "in one batch" }])
    const evidence = (type: string) => ({ evidence: [{ type }] })
    await ledger.perform(workspaceId, [
      { op: "capture", body: "occupies the actor" },
      { op: "close", id, result: "fail", ...evidence("first"), meta: { tier: "T1" } },
      { op: "reopen", id, meta: { tier: "T2" } },
      { op: "claim", id, owner: "agent:one" },
      { op: "close", id, result: "pass", ...evidence("second"), meta: { tier: "T3" } }
    ])
    const rows = await readDeliveries(ledger.database.url)
    const told = rows.map(({ payload }) => JSON.parse(payload).commitment)
    assert.deepStrictEqual(
      told.map(({ currentState, evidence, result, tier }) => [
        currentState,
        result,
        tier,
        evidence.map(({ type }: { type: string }) => type)
      ]),
      [
        ["closed", "fail", "T1", ["first"]],
        ["claimed", null, "T2", ["first"]],
        ["closed", "pass", "T3", ["first", "second"]]
      ]
    )
    const times = rows.map(({ payload }) => JSON.parse(payload).timestamp)
    assert.strictEqual(new Set(times).size, 3, "the suggested key tells them apart")
  })

  it("tell nothing to another workspace's endpoints", async () => {
    await using ledger = await openLedger()
    const mine = await ledger.workspace("mine")
    const theirs = await ledger.workspace("theirs")
    const url = "https://example.org/"
    await ledger.perform(theirs, [{ op: "webhook.register", url, secret: SECRET }])
    const [id] = await ledger.perform(mine, [{ op: "commit", title: "mine" }])
    await ledger.perform(mine, [{ op: "claim", id, owner: "agent:one" }])
    assert.deepStrictEqual(await readDeliveries(ledger.database.url), [])
  })
})
