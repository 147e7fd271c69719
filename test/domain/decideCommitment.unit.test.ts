// The state table of commitments as rows, straight from the spec and D1 to D3.
import { Result } from "effect"
import { assert, describe, it } from "vitest"
import {
  type CommitmentOperation,
  createCommitment,
  decideCommitment
} from "../../src/domain/decideCommitment.ts"
import type { CommitmentRecord } from "../../src/domain/records.ts"
import { sendsCallback } from "../../src/domain/transitions.ts"

const CREATED = createCommitment(
  {
    op: "commit",
    title: "a title",
    body: undefined,
    tags: undefined,
    priority: undefined,
    source: undefined,
    meta: undefined
  },
  { id: "cmt_01h455vb4pex5vsknk084sn02q", seq: 1, now: 1_000 }
)

const BEFORE: Readonly<Record<string, CommitmentRecord>> = {
  open: CREATED,
  claimed: { ...CREATED, state: "claimed", owner: "jane" },
  in_review: { ...CREATED, state: "in_review", owner: "jane" },
  closed: { ...CREATED, state: "closed", result: "fail", owner: "jane", closedAt: 2_000 },
  approved: {
    ...CREATED,
    state: "closed",
    result: "pass",
    owner: "jane",
    approved: true,
    closedAt: 2_000
  },
  reopened: { ...CREATED, reopened: true }
}

const id = CREATED.id
const meta = undefined
const OPERATIONS: Readonly<Record<string, CommitmentOperation>> = {
  claim: { op: "claim", id, owner: "joe", meta },
  release: { op: "release", id, reason: undefined, meta },
  submit: { op: "submit", id, body: undefined, evidence: undefined, meta },
  approve: { op: "approve", id, body: undefined, meta },
  close: { op: "close", id, result: "pass", evidence: [], summary: undefined, meta },
  reopen: { op: "reopen", id, reason: undefined, meta },
  annotate: { op: "annotate", id, body: "a note", kind: undefined, meta }
}

/** before | operation | state after, or the error code | owner after | result after | callback */
const TABLE = `
  open      | claim    | claimed          | joe  | -    | yes
  open      | release  | VALIDATION_ERROR |      |      |
  open      | submit   | VALIDATION_ERROR |      |      |
  open      | approve  | VALIDATION_ERROR |      |      |
  open      | close    | closed           | -    | pass | yes
  open      | reopen   | VALIDATION_ERROR |      |      |
  open      | annotate | open             | -    | -    | no
  claimed   | claim    | VALIDATION_ERROR |      |      |
  claimed   | release  | open             | -    | -    | no
  claimed   | submit   | in_review        | jane | -    | no
  claimed   | approve  | VALIDATION_ERROR |      |      |
  claimed   | close    | closed           | jane | pass | yes
  claimed   | reopen   | VALIDATION_ERROR |      |      |
  claimed   | annotate | claimed          | jane | -    | no
  in_review | claim    | VALIDATION_ERROR |      |      |
  in_review | release  | VALIDATION_ERROR |      |      |
  in_review | submit   | VALIDATION_ERROR |      |      |
  in_review | approve  | closed           | jane | pass | no
  in_review | close    | closed           | jane | pass | no
  in_review | reopen   | VALIDATION_ERROR |      |      |
  in_review | annotate | in_review        | jane | -    | no
  closed    | claim    | VALIDATION_ERROR |      |      |
  closed    | release  | VALIDATION_ERROR |      |      |
  closed    | submit   | VALIDATION_ERROR |      |      |
  closed    | approve  | VALIDATION_ERROR |      |      |
  closed    | close    | VALIDATION_ERROR |      |      |
  closed    | reopen   | open             | -    | -    | no
  closed    | annotate | closed           | jane | fail | no
  approved  | close    | closed           | jane | pass | no
  approved  | reopen   | open             | -    | -    | no
  approved  | claim    | VALIDATION_ERROR |      |      |
  approved  | annotate | closed           | jane | pass | no
  reopened  | claim    | claimed          | joe  | -    | yes
  reopened  | close    | closed           | -    | pass | yes
  reopened  | reopen   | VALIDATION_ERROR |      |      |
`

const rows = TABLE.trim()
  .split("\n")
  .map((row) => row.split("|").map((cell) => cell.trim()))

const record = (name: string) => BEFORE[name] ?? assert.fail(`no state ${name}`)
const operation = (name: string) => OPERATIONS[name] ?? assert.fail(`no operation ${name}`)
const decided = (before: string, op: string, now = 3_000) =>
  Result.getOrThrow(decideCommitment(operation(op), record(before), now))

describe("decideCommitment", () => {
  it.each(rows)("%s | %s | %s", (before, op, after, owner, result, callback) => {
    const current = record(before ?? "")
    const outcome = decideCommitment(operation(op ?? ""), current, 3_000)
    if (Result.isFailure(outcome)) {
      assert.strictEqual(outcome.failure._tag, after)
      assert.include(outcome.failure.message, `"${current.state}"`)
      return
    }
    const next = outcome.success
    assert.strictEqual(next.state, after)
    assert.strictEqual(next.owner ?? "-", owner)
    assert.strictEqual(next.result ?? "-", result)
    assert.strictEqual(sendsCallback(current.state, next.state) ? "yes" : "no", callback)
    assert.strictEqual(next.updatedAt, 3_000)
  })

  it("names the current and the required state", () => {
    const outcome = decideCommitment(operation("claim"), record("claimed"), 3_000)
    assert.strictEqual(
      Result.isFailure(outcome) && outcome.failure.message,
      `The operation "claim" requires the state "open", but commitment ${id} is in the state "claimed".`
    )
  })

  it("closing after an approve keeps closedAt, and works once (D2)", () => {
    const closed = decided("approved", "close")
    assert.strictEqual(closed.closedAt, 2_000)
    assert.isTrue(Result.isFailure(decideCommitment(operation("close"), closed, 4_000)))
  })

  it("only a reopen makes a commitment reopened, and any move ends it (D4)", () => {
    assert.isTrue(decided("closed", "reopen").reopened)
    assert.isTrue(decided("reopened", "annotate").reopened)
    assert.isFalse(decided("reopened", "claim").reopened)
  })

  it("merges meta at the top level, the later value winning (D16)", () => {
    const current = { ...CREATED, meta: { kept: 1, changed: { a: 1 } } }
    const claim = {
      ...operation("claim"),
      meta: JSON.parse('{"changed":{"b":2},"__proto__":{"c":3}}')
    }
    const { meta } = Result.getOrThrow(decideCommitment(claim, current, 3_000))
    assert.strictEqual(JSON.stringify(meta), '{"kept":1,"changed":{"b":2},"__proto__":{"c":3}}')
  })
})
