// Random histories of a workspace, for the tests of replay: operations that name earlier records by
// number, so that shrinking keeps them meaningful.
import fc from "fast-check"

/** An operation whose `id`, `target` and `source` are still numbers of earlier records. */
export interface Step {
  readonly op: string
  readonly fields: Readonly<Record<string, unknown>>
  readonly commitment: number
  readonly memory: number
}

const text = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  fc.constantFrom("ä".repeat(200), `${"long text, ".repeat(40)}\n\u2028`)
)
const said = text.filter((value) => /\S/.test(value) && !value.includes("\0"))
const word = fc.constantFrom("jane", "agent:claude", "ö \u202e", "high")
const metaValue = fc.oneof(
  fc.integer(),
  said,
  fc.boolean(),
  fc.constant(null),
  fc.constant({ b: [1, { z: "x".repeat(300) }], a: -0 })
)
const meta = fc.dictionary(fc.constantFrom("tier", "key", "__proto__", "ü"), metaValue)
const tags = fc.array(fc.constantFrom("one", "two", " three "), { maxLength: 3 })
const evidence = fc.array(fc.record({ type: fc.constantFrom("test", "log"), body: said }), {
  maxLength: 2
})

const FIELDS = {
  capture: fc.record({ body: said, kind: word, tags }, { requiredKeys: ["body"] }),
  commit: fc.record({ title: said, body: said, tags, priority: word }, { requiredKeys: ["title"] }),
  claim: fc.record({ owner: word }),
  release: fc.record({}),
  close: fc.record({ result: fc.constantFrom("pass", "fail"), evidence }),
  annotate: fc.record({ body: said }),
  submit: fc.record({ evidence }),
  approve: fc.record({}),
  reopen: fc.record({}),
  link: fc.record({}),
  dismiss: fc.record({}),
  triage: fc.record({ priority: word, kind: word }, { requiredKeys: [] })
} as const

const step = fc.constantFrom(...(Object.keys(FIELDS) as Array<keyof typeof FIELDS>)).chain((op) =>
  fc.record({
    op: fc.constant(op),
    fields: fc
      .tuple(FIELDS[op], fc.option(meta, { nil: undefined }))
      .map(
        ([fields, given]): Readonly<Record<string, unknown>> =>
          given === undefined ? fields : { ...fields, meta: given }
      ),
    commitment: fc.nat(30),
    memory: fc.nat(30)
  })
)

/** Groups of steps: the steps of one group are performed together. */
export const histories = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), {
  minLength: 1,
  maxLength: 8
})

const FROM_MEMORY: ReadonlySet<string> = new Set(["link", "dismiss", "triage"])

const pick = (ids: ReadonlyArray<string>, index: number): string | undefined =>
  ids.length === 0 ? undefined : ids[index % ids.length]

/** The step as an operation on the records there are; undefined when there is none to name. */
export const toOperation = (
  { commitment, fields, memory, op }: Step,
  records: {
    readonly commitments: ReadonlyArray<string>
    readonly memories: ReadonlyArray<string>
  }
): object | undefined => {
  const commitmentId = pick(records.commitments, commitment)
  const memoryId = pick(records.memories, memory)
  if (op === "capture") return { op, ...fields }
  // Every third commitment has a source.
  if (op === "commit") return { op, ...fields, source: memory % 3 === 0 ? memoryId : undefined }
  if (op === "link") {
    return memoryId === undefined || commitmentId === undefined
      ? undefined
      : { op, ...fields, id: memoryId, target: commitmentId }
  }
  const onMemory = FROM_MEMORY.has(op) || (op === "annotate" && memory % 2 === 0)
  const id = onMemory ? memoryId : commitmentId
  return id === undefined ? undefined : { op, ...fields, id }
}
