// What a field may hold: tags (D19), and text, numbers and keys that storage or JavaScript would
// change or refuse (D20).
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused } from "./expectations.ts"
import { commitmentIn } from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const commit = (fields: object) => service.perform({ op: "commit", title: "x", ...fields })
const read = async (id: string) =>
  (await service.get(`/${id.startsWith("cmt_") ? "commitments" : "memories"}/${id}`)).body.data

describe("D19: tags", () => {
  it.each([
    [
      ["a", " b ", "\tc\n"],
      ["a", "b", "c"]
    ],
    [["a", "a", " a"], ["a"]],
    [
      ["b", "a"],
      ["b", "a"]
    ],
    [
      ["A", "a"],
      ["A", "a"]
    ],
    [
      ["{a}", "NULL", '"', "\\", "'", "%", "_", "a b"],
      ["{a}", "NULL", '"', "\\", "'", "%", "_", "a b"]
    ],
    [
      ["\u00e9", "e\u0301"],
      ["\u00e9", "e\u0301"]
    ],
    [[], []]
  ])("%j are kept as %j", async (tags, kept) => {
    assert.deepStrictEqual((await read(assertPerformed(await commit({ tags })))).tags, kept)
    const memory = await service.record({ op: "capture", body: "x", tags })
    assert.deepStrictEqual((await read(memory)).tags, kept)
  })

  it("with a comma are 400, and the message says why", async () => {
    assertRefused(await commit({ tags: ["a,b"] }), "INVALID_REQUEST", ["tags", "comma"])
  })
})

const UNKEPT_TEXTS = [
  ["NUL", "a\0b", "NUL"],
  ["a lone high surrogate", "a\ud800b", "surrogate"],
  ["a lone low surrogate", "a\udc00b", "surrogate"],
  ["a reversed pair", "\udc00\ud800", "surrogate"]
] as const

describe("D20: text that cannot be kept is 400", () => {
  it.each(UNKEPT_TEXTS)("%s", async (_name, text, word) => {
    const places: ReadonlyArray<object> = [
      { op: text },
      { title: text },
      { body: text },
      { priority: text },
      { source: text },
      { tags: [text] },
      { meta: { key: text } },
      { meta: { [text]: 1 } },
      { meta: { list: [{ deep: text }] } },
      { [text]: 1 },
      { ignored: text },
      { evidence: [{ type: text }] }
    ]
    for (const place of places) assertRefused(await commit(place), "INVALID_REQUEST", [word])
  })
})

const KEPT_TEXTS = [
  "\ufffe",
  "\uffff",
  "\u202egnirts",
  "\u200b\u200d\ufeff",
  `e${"\u0301".repeat(1_000)}`,
  "\u{1f469}\u200d\u{1f469}\u200d\u{1f467}",
  "line\r\nline\rX-Injected: 1\r\n\r\n",
  "\u0001\u001f\u007f\u0085",
  "\u{10ffff}",
  "<script>alert(1)</script>",
  "'; drop table commitments; --",
  "#{7*7} {{7*7}} %s %n",
  "x".repeat(100_000)
]

describe("D20: any other text comes back as it was given", () => {
  it.each(KEPT_TEXTS.map((text) => [JSON.stringify(text).slice(0, 40), text]))(
    "%s",
    async (_name, text) => {
      const id = assertPerformed(await commit({ title: text, body: text, meta: { [text]: text } }))
      const data = await read(id)
      assert.deepStrictEqual([data.title, data.body, data.meta], [text, text, { [text]: text }])
    }
  )

  it("a link of evidence, which is only kept and shown", async () => {
    const id = await commitmentIn(service)
    const links = ["javascript:alert(1)", "data:text/html,x", "not a url", "a".repeat(65_536)]
    const evidence = links.map((url) => ({ type: "pr", url }))
    await service.record({ op: "close", id, result: "pass", evidence })
    assert.deepStrictEqual((await read(id)).evidence, evidence)
  })
})

/** Bodies are written as text here: JavaScript has no literal for what some of them hold. */
const sendText = (body: string) =>
  service.request("/ops", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body
  })

describe("D20: numbers and keys of metadata", () => {
  it.each([
    ["9007199254740991", 9007199254740991],
    ["-9223372036854775808", -(2 ** 63)],
    ["0.1", 0.1],
    ["1e-400", 0],
    ["-0", 0],
    ["1e21", 1e21],
    ["100000000000000000000000000001", 1e29]
  ])("%s is kept as JavaScript reads it", async (text, value) => {
    const reply = await sendText(`{"op":"commit","title":"x","meta":{"n":${text}}}`)
    assert.deepStrictEqual((await read(assertPerformed(reply))).meta, { n: value })
  })

  it.each(["1e400", "-1e400", "1e131072"])("%s is 400", async (text) => {
    for (const place of [`"meta":{"n":${text}}`, `"ignored":[${text}]`]) {
      assertRefused(await sendText(`{"op":"commit","title":"x",${place}}`), "INVALID_REQUEST", [
        "number"
      ])
    }
  })

  it("__proto__ and its like are keys like any other", async () => {
    const meta =
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"hasOwnProperty":1,"toString":null}'
    const id = assertPerformed(
      await sendText(`{"op":"commit","title":"x","__proto__":{"title":"y"},"meta":${meta}}`)
    )
    await sendText(`{"op":"annotate","id":"${id}","body":"x","meta":{"__proto__":{"later":2}}}`)
    const data = await read(id)
    assert.strictEqual(data.title, "x")
    const proto = Object.getOwnPropertyDescriptor(data.meta, "__proto__")?.value
    assert.deepStrictEqual(proto, { later: 2 })
    assert.deepStrictEqual(Object.keys(data.meta).toSorted(), [
      "__proto__",
      "constructor",
      "hasOwnProperty",
      "toString"
    ])
    assert.isUndefined(({} as { polluted?: unknown }).polluted)
    const list = (await service.get("/commitments?limit=1")).body.data[0]
    assert.isTrue(Object.hasOwn(list.meta, "__proto__"))
  })

  it("__proto__ in evidence is kept as it was given", async () => {
    const id = await commitmentIn(service)
    const evidence = '[{"type":"log","__proto__":{"a":1},"payload":{"__proto__":2}}]'
    await sendText(`{"op":"close","id":"${id}","result":"pass","evidence":${evidence}}`)
    assert.deepStrictEqual((await read(id)).evidence, JSON.parse(evidence))
  })

  it("of two equal keys the last counts", async () => {
    const reply = await sendText('{"op":"capture","op":"commit","title":"x","title":"y"}')
    assert.strictEqual((await read(assertPerformed(reply))).title, "y")
  })
})
