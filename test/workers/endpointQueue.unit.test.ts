// What one endpoint is sent next: first attempts before retries, one commitment's first attempts one
// after another, four at once.
import { assert, describe, it } from "vitest"
import type { ClaimedDelivery } from "../../src/domain/deliveryHandoff.ts"
import {
  EndpointQueue,
  HELD_AFTER_TIMEOUT,
  HELD_PER_ENDPOINT,
  IN_FLIGHT_PER_ENDPOINT,
  UNLOGGED_PER_ENDPOINT
} from "../../src/workers/endpointQueue.ts"

const endpoint = { id: "whk_1", url: "https://example.org/", secret: "s", previousSecret: null }

let count = 0
const delivery = (commitmentId: string, attempts = 0): ClaimedDelivery => {
  count += 1
  return {
    workspaceId: "w",
    id: `dlv_${count}`,
    endpoint,
    eventId: `evt_${count}`,
    commitmentId,
    seq: count,
    attempts,
    payload: "{}",
    claimToken: "t",
    follows: false
  }
}

const queueOf = (...deliveries: ReadonlyArray<ClaimedDelivery>) => {
  const queue = new EndpointQueue()
  for (const one of deliveries) queue.add(one)
  return queue
}

const drain = (queue: EndpointQueue) => {
  const started: Array<ClaimedDelivery> = []
  for (let next = queue.next(); next !== undefined; next = queue.next()) started.push(next)
  return started
}

describe("an endpoint's queue", () => {
  it("gives nothing when it has nothing", () => {
    assert.isUndefined(new EndpointQueue().next())
    assert.strictEqual(new EndpointQueue().room, HELD_PER_ENDPOINT)
  })

  it("lets four requests be under way at once, and the next when one has ended", () => {
    assert.strictEqual(IN_FLIGHT_PER_ENDPOINT, 4)
    const all = ["a", "b", "c", "d", "e"].map((name) => delivery(name))
    const queue = queueOf(...all)
    const started = drain(queue)
    assert.deepStrictEqual(started, all.slice(0, 4))
    queue.answered(false)
    assert.deepStrictEqual(drain(queue), all.slice(4))
  })

  it("lets one request be under way after one that timed out, until another is answered in time", () => {
    const all = ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => delivery(name))
    const queue = queueOf(...all)
    assert.deepStrictEqual(drain(queue), all.slice(0, 4))
    for (let underWay = 0; underWay < 3; underWay++) queue.answered(true)
    assert.deepStrictEqual(drain(queue), [])
    queue.answered(true)
    assert.deepStrictEqual(drain(queue), all.slice(4, 5))
    queue.answered(false)
    assert.deepStrictEqual(drain(queue), all.slice(5))
  })

  it("starts nothing more while too many attempts wait to be logged", () => {
    const queue = new EndpointQueue()
    for (let index = 0; index <= UNLOGGED_PER_ENDPOINT; index++) queue.add(delivery(`c${index}`))
    const answered: Array<ClaimedDelivery> = []
    while (answered.length < UNLOGGED_PER_ENDPOINT) {
      for (const started of drain(queue)) {
        answered.push(started)
        queue.answered(false)
      }
    }
    assert.deepStrictEqual(drain(queue), [])
    const [first] = answered
    assert.isDefined(first)
    queue.ended(first)
    assert.lengthOf(drain(queue), 1)
  })

  it("is not thought to answer again by what was not sent after all", () => {
    const all = ["a", "b", "c", "d", "e"].map((name) => delivery(name))
    const queue = queueOf(...all)
    drain(queue)
    for (const isTimeout of [true, undefined, undefined]) queue.answered(isTimeout)
    assert.deepStrictEqual(drain(queue), [], "one is under way, and that is all it may have")
  })

  it("keeps what finds no place among the requests of all endpoints", () => {
    const [one, two] = [delivery("a"), delivery("b")]
    const queue = queueOf(one, two)
    assert.isUndefined(queue.next(() => false))
    assert.strictEqual(queue.next(), one)
    assert.isUndefined(queue.next(() => false))
    assert.strictEqual(queue.next(), two)
  })

  it("sends first attempts for one commitment one after another, in the order of the ledger", () => {
    const claim = delivery("a")
    const close = delivery("a")
    const other = delivery("b")
    const queue = queueOf(claim, close, other)
    assert.deepStrictEqual(drain(queue), [claim, other])
    queue.answered(false)
    assert.deepStrictEqual(drain(queue), [], "its attempt is not logged yet")
    queue.ended(claim)
    assert.deepStrictEqual(drain(queue), [close])
  })

  it("sends first attempts before retries", () => {
    const retries = ["a", "b", "c", "d", "e"].map((name) => delivery(name, 1))
    const first = delivery("f")
    const queue = queueOf(...retries, first)
    assert.deepStrictEqual(drain(queue), [first, ...retries.slice(0, 3)])
  })

  it("does not hold a first attempt back for a retry of the same commitment, nor a retry for it", () => {
    const retry = delivery("a", 1)
    const close = delivery("a")
    assert.deepStrictEqual(drain(queueOf(retry, close)), [close, retry])
  })

  it("a retry that ends does not free a first attempt's turn", () => {
    const retry = delivery("a", 2)
    const claim = delivery("a")
    const queue = queueOf(retry, claim)
    drain(queue)
    queue.answered(false)
    queue.ended(retry)
    queue.add(delivery("a"))
    assert.deepStrictEqual(drain(queue), [])
  })

  it("has less room for what waits or is under way, and no less than none", () => {
    const queue = new EndpointQueue()
    for (let index = 0; index < HELD_PER_ENDPOINT + 3; index++) queue.add(delivery(`c${index}`))
    assert.strictEqual(queue.room, 0)
    const started = drain(queue)
    assert.strictEqual(queue.room, 0)
    for (const _ of started) queue.answered(false)
    assert.strictEqual(queue.room, 1)
  })

  it("that has not answered yet gets little while there is little for all, and all once it answers", () => {
    const all = ["a", "b", "c", "d", "e", "f"].map((name) => delivery(name))
    const queue = new EndpointQueue(() => true)
    assert.strictEqual(queue.roomForFirst, HELD_AFTER_TIMEOUT)
    for (const one of all) queue.add(one)
    assert.deepStrictEqual(drain(queue), all.slice(0, 1))
    queue.answered(false)
    assert.deepStrictEqual(drain(queue), all.slice(1, 5))
    assert.isAbove(queue.room, HELD_AFTER_TIMEOUT)
  })

  it("that lets a request time out gives up what waits beyond a few, retries first", () => {
    const firsts = ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => delivery(name))
    const retry = delivery("i", 1)
    const queue = queueOf(...firsts, retry)
    drain(queue)
    assert.deepStrictEqual(queue.shed(), [], "nothing timed out yet")
    queue.answered(true)
    assert.deepStrictEqual(queue.shed(), [...firsts.slice(5), retry])
    assert.deepStrictEqual([queue.room, queue.roomForFirst], [0, 0])
    assert.deepStrictEqual(queue.shed(), [])
  })

  it("keeps retries when there is room for them", () => {
    const first = delivery("a")
    const retries = ["b", "c", "d", "e"].map((name) => delivery(name, 1))
    const queue = queueOf(first, ...retries)
    assert.strictEqual(queue.next(), first)
    queue.answered(true)
    assert.deepStrictEqual(queue.shed(), [])
    assert.strictEqual(queue.next(), retries[0])
    assert.strictEqual(HELD_AFTER_TIMEOUT, 4)
  })

  it("is empty when the last attempt is logged", () => {
    const only = delivery("a")
    const queue = queueOf(only)
    assert.isFalse(queue.isEmpty)
    drain(queue)
    assert.isFalse(queue.isEmpty)
    queue.answered(false)
    assert.isFalse(queue.isEmpty)
    queue.ended(only)
    assert.isTrue(queue.isEmpty)
  })
})
