// What a field may hold: the limits (D18), tags (D19), and text, numbers and keys that storage or
// JavaScript would change or refuse (D20).
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { LIMITS } from "../../src/domain/limits.ts"
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

const nested = (levels: number): unknown =>
  JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)
const many = <Item>(length: number, item: (index: number) => Item) =>
  Array.from({ length }, (_, index) => item(index))
const url = (length: number) => "https://receiver.test/".padEnd(length, "a")

interface LimitRow {
  readonly name: string
  readonly max: number
  readonly operation: (size: number) => object
}

const LIMIT_ROWS: ReadonlyArray<LimitRow> = [
  ...["priority", "source"].map((field) => ({
    name: `commit ${field}`,
    max: LIMITS.shortTextCharacters,
    operation: (size: number) => ({ op: "commit", title: "x", [field]: "p".repeat(size) })
  })),
  ...["claim", "annotate", "link"].map((op) => ({
    name: `${op} id`,
    max: LIMITS.shortTextCharacters,
    operation: (size: number) => ({
      op,
      id: "i".repeat(size),
      owner: "o",
      body: "b",
      target: "t"
    })
  })),
  {
    name: "link target",
    max: LIMITS.shortTextCharacters,
    operation: (size) => ({ op: "link", id: "i", target: "t".repeat(size) })
  },
  {
    name: "capture kind",
    max: LIMITS.shortTextCharacters,
    operation: (size) => ({ op: "capture", body: "x", kind: "k".repeat(size) })
  },
  {
    name: "capture kind, of characters outside the basic plane",
    max: LIMITS.shortTextCharacters,
    operation: (size) => ({ op: "capture", body: "x", kind: "\u{1f600}".repeat(size) })
  },
  {
    name: "one tag",
    max: LIMITS.shortTextCharacters,
    operation: (size) => ({ op: "commit", title: "x", tags: ["t".repeat(size)] })
  },
  {
    name: "number of tags",
    max: LIMITS.tags,
    operation: (size) => ({ op: "commit", title: "x", tags: many(size, String) })
  },
  {
    name: "webhook url",
    max: LIMITS.webhookUrlCharacters,
    operation: (size) => ({ op: "webhook.register", secret: "s", url: url(size) })
  },
  {
    name: "webhook secret",
    max: LIMITS.webhookSecretCharacters,
    operation: (size) => ({ op: "webhook.register", secret: "s".repeat(size), url: url(30) })
  }
]

describe("D18: the greatest is accepted, one more is 400 and names the limit", () => {
  it.each(LIMIT_ROWS)("$name: $max", async ({ max, operation }) => {
    const greatest = await service.perform(operation(max))
    // A made-up id is looked for and not found: its length was accepted.
    assert.include([200, 404], greatest.status, JSON.stringify(greatest.body))
    assertRefused(await service.perform(operation(max + 1)), "INVALID_REQUEST", [String(max)])
  })

  it(`owner: ${LIMITS.shortTextCharacters}`, async () => {
    const id = await commitmentIn(service)
    const owner = "o".repeat(LIMITS.shortTextCharacters)
    const tooLong = await service.perform({ op: "claim", id, owner: `${owner}o` })
    assertRefused(tooLong, "INVALID_REQUEST", [String(LIMITS.shortTextCharacters)])
    assertPerformed(await service.perform({ op: "claim", id, owner }))
    assert.strictEqual((await read(id)).owner, owner)
  })

  it(`evidence items: ${LIMITS.evidenceItems}`, async () => {
    const id = await commitmentIn(service)
    const evidence = many(LIMITS.evidenceItems + 1, () => ({ type: "log" }))
    const close = { op: "close", id, result: "pass" }
    const tooMany = await service.perform({ ...close, evidence })
    assertRefused(tooMany, "INVALID_REQUEST", [String(LIMITS.evidenceItems)])
    assertPerformed(await service.perform({ ...close, evidence: evidence.slice(1) }))
    assert.lengthOf((await read(id)).evidence, LIMITS.evidenceItems)
  })

  it.each([
    ["meta", 2, (levels: number) => ({ op: "commit", title: "x", meta: { deep: nested(levels) } })],
    ["a field that is ignored", 1, (levels: number) => ({ op: "commit", title: "x", y: nested(levels) })]
  ] as const)(`levels of JSON, in %s: ${LIMITS.jsonDepth}`, async (_name, outer, operation) => {
    const levels = LIMITS.jsonDepth - outer
    assertPerformed(await service.perform(operation(levels)))
    const tooDeep = await service.perform(operation(levels + 1))
    assertRefused(tooDeep, "INVALID_REQUEST", [String(LIMITS.jsonDepth)])
  })
})

describe("D19: tags", () => {
  it.each([
    [["a", " b ", "\tc\n"], ["a", "b", "c"]],
    [["a", "a", " a"], ["a"]],
    [["b", "a"], ["b", "a"]],
    [["A", "a"], ["A", "a"]],
    [["{a}", "NULL", '"', "\\", "'", "%", "_", "a b"], ["{a}", "NULL", '"', "\\", "'", "%", "_", "a b"]],
    [["\u00e9", "e\u0301"], ["\u00e9", "e\u0301"]],
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
  "${7*7} {{7*7}} %s %n",
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
    ["-9223372036854775808", -9223372036854775808],
    ["0.1", 0.1],
    ["1e-400", 0],
    ["-0", 0],
    ["1e21", 1e21],
    ["123456789012345678901234567890", 123456789012345678901234567890]
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
