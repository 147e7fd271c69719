// Replaying entries with the pure rules, without a database: what a batch decided is what replay gives.
import { Result } from "effect"
import fc from "fast-check"
import { assert, it } from "vitest"
import type { Loaded } from "../../src/domain/batchDraft.ts"
import { compactCommitment, compactMemory } from "../../src/domain/compactRecord.ts"
import { decideBatch } from "../../src/domain/decideBatch.ts"
import { GENESIS_HASH } from "../../src/domain/hashChain.ts"
import { makeOperationRequest } from "../../src/domain/operationRequest.ts"
import { parseOperation } from "../../src/domain/operations.ts"
import { type LedgerEntry, NO_COUNTS } from "../../src/domain/records.ts"
import { emptyProjection, entryFormat, linkName } from "../../src/domain/replay.ts"
import { histories, type Step, toOperation } from "./histories.ts"

const EMPTY: Loaded = {
  head: {
    workspaceId: "0190c0de-0000-7000-8000-000000000001",
    lastSeq: 0,
    lastHash: GENESIS_HASH,
    lastTime: 1_000,
    counts: NO_COUNTS
  },
  commitments: [],
  memories: [],
  links: [],
  endpoints: [],
  keptAnswers: []
}

/** Ids that can be told before they are made: the n-th operation's record is `<prefix>_…n`. */
const idOf = (prefix: string, number: number) => `${prefix}_${String(number).padStart(26, "0")}`

/** All steps as one batch on an empty workspace. */
const decide = (steps: ReadonlyArray<Step>) => {
  let made = 0
  const records = { commitments: [idOf("cmt", 1)], memories: [idOf("mem", 1)] }
  const requests = steps.flatMap((step) => {
    const operation = toOperation(step, records)
    if (operation === undefined) return []
    const parsed = Result.getOrThrow(parseOperation(operation))
    const caller = { actor: "agent:test", tokenId: "test" }
    return Result.getOrThrow(makeOperationRequest(parsed, caller, undefined))
  })
  const counters = new Map<string, number>()
  return decideBatch(EMPTY, requests, {
    allow: [],
    now: 2_000,
    nextId: (prefix) => {
      if (prefix === "op") return idOf(prefix, ++made)
      const number = (counters.get(prefix) ?? 0) + 1
      counters.set(prefix, number)
      return idOf(prefix, number)
    }
  })
}

const replay = (entries: ReadonlyArray<LedgerEntry>) => {
  const projection = emptyProjection()
  const problems = entries.map((entry) => entryFormat(1)?.replay(projection, entry))
  return { projection, problems: problems.filter((problem) => problem !== undefined) }
}

const byId = <Record extends { readonly id: string }>(records: ReadonlyArray<Record>) =>
  new Map(records.map((record) => [record.id, record]))

it("what a batch decided is what its entries replay to", () => {
  fc.assert(
    fc.property(histories, (groups) => {
      const outcome = decide(groups.flat())
      const { problems, projection } = replay(outcome.entries)
      assert.deepEqual(problems, [])
      assert.deepEqual(projection.commitments, byId(outcome.commitments.map(compactCommitment)))
      assert.deepEqual(projection.memories, byId(outcome.memories.map(compactMemory)))
      assert.deepEqual(
        projection.links,
        new Map(outcome.links.map((link) => [linkName(link), link]))
      )
    }),
    { numRuns: 200 }
  )
})

const entryOf = (operation: object, recordId: string, seq = 1): LedgerEntry => ({
  seq,
  opId: idOf("op", seq),
  op: "op" in operation ? String(operation.op) : "",
  actor: "agent:test",
  recordId,
  time: 2_000 + seq,
  payload: JSON.stringify(operation),
  previousHash: GENESIS_HASH,
  hash: GENESIS_HASH
})

it.each([
  [
    "a payload that is no JSON",
    { ...entryOf({ op: "commit", title: "x" }, "cmt_1"), payload: "{" },
    "payload"
  ],
  [
    "a payload of another operation",
    { ...entryOf({ op: "commit", title: "x" }, "cmt_1"), op: "capture" },
    "payload"
  ],
  [
    "an unknown record",
    entryOf({ op: "claim", id: idOf("cmt", 7), owner: "jane" }, idOf("cmt", 7)),
    "did not exist"
  ],
  [
    "an unknown source",
    entryOf({ op: "commit", title: "x", source: idOf("mem", 7) }, "cmt_1"),
    "did not exist"
  ]
])("an entry that cannot have happened is told: %s", (_, entry, message) => {
  assert.include(replay([entry]).problems[0], message)
})

it("an operation that the rules refuse cannot have happened", () => {
  const id = idOf("cmt", 1)
  const { problems } = replay([
    entryOf({ op: "commit", title: "x" }, id, 1),
    entryOf({ op: "release", id }, id, 2)
  ])
  assert.strictEqual(problems.length, 1)
  assert.include(problems[0], 'requires the state "claimed"')
})

it("entries of an unknown format have no replay", () => {
  assert.strictEqual(entryFormat(2), undefined)
})
