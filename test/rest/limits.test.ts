// D18: the limits on what a caller may send, each at its greatest and one beyond.
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

const read = async (id: string) => (await service.get(`/commitments/${id}`)).body.data
const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)
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
    [
      "a field that is ignored",
      1,
      (levels: number) => ({ op: "commit", title: "x", y: nested(levels) })
    ]
  ] as const)(`levels of JSON, in %s: ${LIMITS.jsonDepth}`, async (_name, outer, operation) => {
    const levels = LIMITS.jsonDepth - outer
    assertPerformed(await service.perform(operation(levels)))
    const tooDeep = await service.perform(operation(levels + 1))
    assertRefused(tooDeep, "INVALID_REQUEST", [String(LIMITS.jsonDepth)])
  })
})
