// Random histories for fast-check: what several clients send, in steps of one command or of a burst
// of commands at once. Records are named symbolically, because their ids exist only at run time.
import fc from "fast-check"
import type { Model } from "./model.ts"
import type { Sent } from "./requests.ts"

/** The record that was made `index` records ago, counted round and round. */
interface Reference {
  readonly reference: "commitment" | "memory"
  readonly index: number
}

export interface Command {
  /** Which of the clients sends it. */
  readonly client: number
  readonly operation: Sent
  readonly key: string | undefined
}

/** Commands that are sent at once; most often one alone. */
export type Step = ReadonlyArray<Command>

export const CLIENTS = 3

const UNKNOWN = {
  commitment: "cmt_01h455vb4pex5vsknk084sn02q",
  memory: "mem_01h455vb4pex5vsknk084sn02q"
}

const text = fc.oneof(
  fc.constantFrom("a note", "mend the build", "zweiter Versuch", "émoji 🎉", "  spaced  ", "x"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 })
)
const owner = fc.constantFrom("agent:one", "agent:two", "human:jane")
const kind = fc.constantFrom("note", "metric", "bug-report")
const priority = fc.constantFrom("critical", "high", "medium", "low")
const tags = fc.array(
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom("backend", "ui", "urgent", " urgent ", "ünïcode") },
    { weight: 1, arbitrary: fc.constantFrom("a,b", " ") }
  ),
  { maxLength: 4 }
)
const meta = fc.constantFrom<object>(
  {},
  { tier: "T1" },
  { tier: "T2", n: 0.1 },
  { a: { b: [1, null, "x"] } },
  { a: 1, constructor: "own" }
)
const evidence = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.constantFrom<ReadonlyArray<unknown>>(
      [],
      [{ type: "test", url: "https://ci.test/1" }],
      [
        { type: "log", body: "all green", extra: { lines: [1, 2] } },
        { type: "pr", url: "" }
      ],
      [{ type: "build", label: "nightly", payload: { exitCode: 0 } }]
    )
  },
  { weight: 1, arbitrary: fc.constantFrom<ReadonlyArray<unknown>>([{}], [1], [{ type: " " }]) }
)

const reference = (to: Reference["reference"]) =>
  fc.nat({ max: 3 }).map((index): Reference => ({ reference: to, index }))

const nearlyAlways = (to: Reference["reference"]) =>
  fc.oneof(
    { weight: 25, arbitrary: reference(to) },
    { weight: 1, arbitrary: reference(to === "memory" ? "commitment" : "memory") },
    { weight: 1, arbitrary: fc.constantFrom(UNKNOWN[to], "nonsense", "cmt_", "mem_1") }
  )

const commitment = nearlyAlways("commitment")
const memory = nearlyAlways("memory")

type Fields = Record<string, fc.Arbitrary<unknown>>

const operation = (op: string, required: Fields, optional: Fields = {}) =>
  fc.record<Record<string, unknown>, string>(
    { op: fc.constant(op), ...required, ...optional, meta },
    { requiredKeys: ["op", ...Object.keys(required)] }
  )

const weighted = (weight: number, arbitrary: fc.Arbitrary<Sent>) => ({ weight, arbitrary })

const result = fc.constantFrom("pass", "fail")
const url = fc.constantFrom("https://hooks.test/one", "https://hooks.test/two")

const validOperation = fc.oneof(
  weighted(2, operation("capture", { body: text }, { kind, tags })),
  weighted(3, operation("commit", { title: text }, { body: text, tags, priority })),
  weighted(2, operation("commit", { title: text, source: memory }, { tags })),
  weighted(5, operation("claim", { id: commitment, owner })),
  weighted(2, operation("release", { id: commitment }, { reason: text })),
  weighted(4, operation("close", { id: commitment, result, evidence }, { summary: text })),
  weighted(2, operation("annotate", { id: commitment, body: text }, { kind })),
  weighted(1, operation("annotate", { id: memory, body: text }, { kind })),
  weighted(3, operation("submit", { id: commitment }, { body: text, evidence })),
  weighted(3, operation("approve", { id: commitment }, { body: text })),
  weighted(3, operation("reopen", { id: commitment }, { reason: text })),
  weighted(2, operation("link", { id: memory, target: commitment })),
  weighted(1, operation("dismiss", { id: memory }, { reason: text })),
  weighted(2, operation("triage", { id: memory }, { priority, kind, body: text })),
  weighted(1, operation("webhook.register", { url, secret: fc.constant("a secret of ours") }))
)

const ABSENT = "(absent)"

/** What careless callers do to a field: leave it out, or send something else. */
const carelessness = fc.record({
  field: fc.nat({ max: 7 }),
  value: fc.constantFrom<unknown>(ABSENT, ABSENT, null, 7, true, "", [], {})
})

const spoil = (sent: Sent, { field, value }: { field: number; value: unknown }): Sent => {
  // The URL of a registration has rules of its own, which are not this model's.
  if (sent.op === "webhook.register") return sent
  const names = Object.keys(sent)
  const name = names[field % names.length] ?? "op"
  const { [name]: _spoilt, ...rest } = sent
  return value === ABSENT ? rest : { ...rest, [name]: value }
}

const anyOperation = fc
  .tuple(validOperation, fc.option(carelessness, { freq: 9, nil: undefined }))
  .map(([sent, careless]) => (careless === undefined ? sent : spoil(sent, careless)))

const command: fc.Arbitrary<Command> = fc.record({
  client: fc.nat({ max: CLIENTS - 1 }),
  operation: anyOperation,
  key: fc.option(fc.constantFrom("k1", "k2", "k3"), { freq: 4, nil: undefined })
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(command) },
  { weight: 1, arbitrary: fc.array(command, { minLength: 2, maxLength: 8, size: "max" }) },
  // The same command again, at once or by others too: with a key one entry, without it several.
  {
    weight: 1,
    arbitrary: fc.tuple(command, fc.integer({ min: 2, max: 4 })).map(([one, times]) =>
      Array.from({ length: times }, (_, index) => ({
        ...one,
        client: one.key === undefined ? (one.client + index) % CLIENTS : one.client
      }))
    )
  }
)

/** Whole lives of one record: random steps alone seldom get far. */
const LIVES = [
  ["claim", "submit", "approve", "close", "close"],
  ["claim", "submit", "approve", "reopen", "close", "close"],
  ["claim", "close", "reopen", "claim", "release"],
  ["close", "reopen", "close"],
  ["claim", "release", "claim", "submit", "close", "reopen"],
  ["link", "link", "dismiss", "triage", "link"],
  ["triage", "dismiss", "link", "triage"]
]

const evidenceAtTheEnd = [{ type: "log", body: "at the end" }]

/** What each operation of a life carries; on a commitment unless it says otherwise. */
const fieldsOf = (op: string, index: number): Sent => {
  const id: Reference = { reference: "commitment", index }
  const memory: Reference = { reference: "memory", index }
  switch (op) {
    case "claim":
      return { id, owner: "agent:one" }
    case "close":
      return { id, result: "fail", evidence: evidenceAtTheEnd, summary: "done" }
    case "link":
      return { id: memory, target: id }
    case "dismiss":
    case "triage":
      return { id: memory, priority: "high" }
    default:
      return { id }
  }
}

const life: fc.Arbitrary<ReadonlyArray<Step>> = fc
  .tuple(fc.constantFrom(...LIVES), fc.nat({ max: 3 }), fc.nat({ max: CLIENTS - 1 }))
  .map(([operations, index, client]) =>
    operations.map((op) => [{ client, operation: { op, ...fieldsOf(op, index) }, key: undefined }])
  )

const stretch = fc.oneof(
  { weight: 7, arbitrary: step.map((one): ReadonlyArray<Step> => [one]) },
  { weight: 1, arbitrary: life }
)

/** Something to start from, so that few commands are about nothing. */
const BEGINNING: Step = [
  { client: 0, operation: { op: "commit", title: "the first" }, key: undefined },
  { client: 1, operation: { op: "capture", body: "the first" }, key: undefined }
]

export const history: fc.Arbitrary<ReadonlyArray<Step>> = fc.noBias(
  fc
    .array(stretch, { maxLength: 24, size: "max" })
    .map((stretches) => [BEGINNING, ...stretches.flat()])
)

/** The operation with the ids of the records that its references mean now. */
export const resolve = (model: Model, operation: Sent): Sent =>
  Object.fromEntries(
    Object.entries(operation).map(([name, value]) => [
      name,
      isReference(value) ? meant(model, value) : value
    ])
  )

const isReference = (value: unknown): value is Reference =>
  typeof value === "object" && value !== null && "reference" in value

const meant = (model: Model, { index, reference: to }: Reference): string => {
  const ids = Array.from((to === "memory" ? model.memories : model.commitments).keys())
  return ids.at(-1 - (index % Math.max(1, ids.length))) ?? UNKNOWN[to]
}
