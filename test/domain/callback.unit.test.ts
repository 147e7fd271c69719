// The payload of a callback as a pure function of the move: every field, and the order of the fields.
import { assert, describe, it } from "vitest"
import { type CallbackMove, callbackPayload } from "../../src/domain/callback.ts"
import type { JsonObject } from "../../src/domain/jsonValue.ts"
import type { CommitmentRecord } from "../../src/domain/records.ts"

const WORKSPACE = { id: "0190c0de-0000-7000-8000-000000000001", name: "default" }

const COMMITMENT: CommitmentRecord = {
  id: "cmt_01h455vb4pex5vsknk084sn02q",
  createdSeq: 1,
  title: "a title",
  body: "not told",
  state: "claimed",
  result: null,
  owner: "agent:one",
  priority: "high",
  tags: ["not told"],
  meta: {},
  memoryId: null,
  reopened: false,
  approved: false,
  createdAt: 1_000,
  updatedAt: 2_000,
  closedAt: null
}

const move = (change: Partial<CommitmentRecord> = {}): CallbackMove => ({
  previousState: "open",
  commitment: { ...COMMITMENT, ...change },
  seq: 2,
  time: 2_000
})

const payloadOf = (change: Partial<CommitmentRecord>, evidence: ReadonlyArray<JsonObject> = []) =>
  JSON.parse(
    callbackPayload(
      WORKSPACE,
      move(change),
      evidence.map((item) => ({ item, capturedAt: 1_500 }))
    )
  ).commitment

describe("the payload", () => {
  it("has the spec's fields in the spec's order, and nothing else", () => {
    assert.strictEqual(
      callbackPayload(WORKSPACE, move(), []),
      `{"event":"commitment.state_changed","timestamp":"1970-01-01T00:00:02.000Z",` +
        `"workspace":{"id":"0190c0de-0000-7000-8000-000000000001","name":"default"},` +
        `"commitment":{"id":"cmt_01h455vb4pex5vsknk084sn02q","memoryId":"","title":"a title",` +
        `"previousState":"open","currentState":"claimed","result":null,"tier":null,"evidence":[],` +
        `"createdAt":"1970-01-01T00:00:01.000Z","closedAt":null}}`
    )
  })

  it("of a closed commitment has result and closing time", () => {
    const closed = payloadOf({ state: "closed", result: "fail", closedAt: 2_000 })
    assert.deepInclude(closed, {
      currentState: "closed",
      result: "fail",
      closedAt: "1970-01-01T00:00:02.000Z"
    })
  })

  it("names the memory", () => {
    assert.strictEqual(payloadOf({ memoryId: "mem_1" }).memoryId, "mem_1")
  })

  it.each([
    ["T1", "T1"],
    ["T2", "T2"],
    ["T3", "T3"],
    ["T0", null],
    ["T1 ", null],
    [3, null],
    [{ T1: true }, null],
    [null, null]
  ])("has the tier of meta if it is one: %j gives %j", (tier, expected) => {
    assert.strictEqual(payloadOf({ meta: { tier } }).tier, expected)
  })
})

const AT = { capturedAt: "1970-01-01T00:00:01.500Z" }

describe("an item of evidence", () => {
  it.each<[string, JsonObject, object]>([
    ["type alone", { type: "log" }, { type: "log", payload: {} }],
    ["url", { type: "pr", url: "u" }, { type: "pr", payload: { url: "u" } }],
    ["body", { type: "log", body: "b" }, { type: "log", payload: { body: "b" } }],
    [
      "url and body",
      { type: "log", body: "b", url: "u" },
      { type: "log", payload: { url: "u", body: "b" } }
    ],
    ["label", { type: "log", label: "l" }, { type: "log", label: "l", payload: {} }],
    [
      "payload before url and body",
      { type: "build", url: "u", body: "b", payload: { exitCode: 0 } },
      { type: "build", payload: { exitCode: 0 } }
    ],
    ["an empty payload", { type: "build", url: "u", payload: {} }, { type: "build", payload: {} }],
    ["other fields", { type: "log", secret: "s" }, { type: "log", payload: {} }],
    [
      "nested payloads",
      { type: "progress", payload: { affectedFiles: ["a"], n: { m: [1.5, null] } } },
      { type: "progress", payload: { affectedFiles: ["a"], n: { m: [1.5, null] } } }
    ]
  ])("with %s", (_, item, expected) => {
    assert.deepStrictEqual(payloadOf({}, [item]).evidence, [{ ...expected, ...AT }])
  })

  it("keeps a __proto__ key of its payload as an own property", () => {
    const item = JSON.parse('{"type":"log","payload":{"__proto__":{"a":1}}}')
    const text = callbackPayload(WORKSPACE, move(), [{ item, capturedAt: 1_500 }])
    assert.include(text, '"payload":{"__proto__":{"a":1}}')
  })

  it("stands in the order in which it was brought", () => {
    const items = ["a", "b", "c"].map((type) => ({ type }))
    assert.deepStrictEqual(
      payloadOf({}, items).evidence.map(({ type }: { type: string }) => type),
      ["a", "b", "c"]
    )
  })
})
