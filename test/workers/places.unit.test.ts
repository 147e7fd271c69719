// Who gets a place when all requests of a replica together are too many.
import { assert, describe, it } from "vitest"
import { IN_FLIGHT, Places, RETRIES_IN_FLIGHT } from "../../src/workers/places.ts"

type Kind = Parameters<Places["take"]>[0]

const neverWoken = () => assert.fail("woken although there was a place")

const fill = (places: Places, kind: Kind, count: number) => {
  for (let taken = 0; taken < count; taken++) assert.isTrue(places.take(kind, neverWoken))
}

/** Tries for a place, and notes its name when it is woken. */
const waitFor = (places: Places, kind: Kind, name: string, woken: Array<string>) =>
  assert.isFalse(places.take(kind, () => woken.push(name)))

describe("the places of a replica", () => {
  it("are bounded, and who finds none is woken when one is left", () => {
    const places = new Places()
    const woken: Array<string> = []
    fill(places, "first", IN_FLIGHT)
    waitFor(places, "first", "one", woken)
    waitFor(places, "first", "two", woken)
    assert.deepStrictEqual(woken, [])
    places.leave("first")
    assert.deepStrictEqual(woken, ["one"])
    assert.isTrue(places.take("first", neverWoken))
    places.leave("first")
    assert.deepStrictEqual(woken, ["one", "two"])
  })

  it("are for retries in part only", () => {
    const places = new Places()
    const woken: Array<string> = []
    fill(places, "retry", RETRIES_IN_FLIGHT)
    waitFor(places, "retry", "retry", woken)
    assert.isTrue(places.take("first", neverWoken))
    places.leave("first")
    assert.deepStrictEqual(woken, [], "a first attempt's place is none for a retry too many")
    places.leave("retry")
    assert.deepStrictEqual(woken, ["retry"])
  })

  it("go to first attempts before retries", () => {
    const places = new Places()
    const woken: Array<string> = []
    fill(places, "first", IN_FLIGHT)
    waitFor(places, "retry", "retry", woken)
    waitFor(places, "first", "first", woken)
    places.leave("first")
    places.leave("first")
    assert.deepStrictEqual(woken, ["first", "retry"])
  })

  it("that were not needed after all go to the next", () => {
    const places = new Places()
    const woken: Array<string> = []
    fill(places, "first", IN_FLIGHT)
    waitFor(places, "first", "one", woken)
    waitFor(places, "first", "two", woken)
    places.leave("first")
    places.wakeNext()
    assert.deepStrictEqual(woken, ["one", "two"])
  })

  it("wake nobody when there is none", () => {
    const places = new Places()
    const woken: Array<string> = []
    fill(places, "first", IN_FLIGHT)
    waitFor(places, "first", "one", woken)
    places.wakeNext()
    assert.deepStrictEqual(woken, [])
  })
})
