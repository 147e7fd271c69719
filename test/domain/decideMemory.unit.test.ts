// The status table of memories as rows, straight from the spec and D6.
import { assert, describe, it } from "vitest"
import {
  commitMemory,
  createMemory,
  decideMemory,
  type MemoryOperation
} from "../../src/domain/decideMemory.ts"
import type { MemoryRecord } from "../../src/domain/records.ts"
import { MEMORY_STATUSES, type MemoryStatus } from "../../src/domain/vocabulary.ts"

const CREATED = createMemory(
  { op: "capture", body: "seen", kind: "note", tags: undefined, meta: undefined },
  { id: "mem_01h455vb4pex5vsknk084sn02q", seq: 1, now: 1_000 }
)
const inStatus = (status: MemoryStatus): MemoryRecord => ({ ...CREATED, status })

const { id } = CREATED
const meta = undefined
const TRIAGE: MemoryOperation = {
  op: "triage",
  id,
  priority: "high",
  kind: undefined,
  body: undefined,
  meta
}
const OPERATIONS = {
  link: { op: "link", id, target: "cmt_01h455vb4pex5vsknk084sn02q", meta },
  dismiss: { op: "dismiss", id, reason: undefined, meta },
  triage: TRIAGE,
  annotate: { op: "annotate", id, body: "a note", kind: undefined, meta }
} as const satisfies Record<string, MemoryOperation>

/** status before | after link | after dismiss | after triage | after annotate */
const TABLE: ReadonlyArray<
  readonly [MemoryStatus, MemoryStatus, MemoryStatus, MemoryStatus, MemoryStatus]
> = [
  ["untriaged", "linked", "dismissed", "triaged", "untriaged"],
  ["triaged", "linked", "dismissed", "triaged", "triaged"],
  ["linked", "linked", "dismissed", "linked", "linked"],
  ["committed", "linked", "dismissed", "committed", "committed"],
  ["dismissed", "linked", "dismissed", "triaged", "dismissed"]
]

describe("decideMemory", () => {
  it("the table has every status", () => {
    assert.sameMembers(
      TABLE.map(([before]) => before),
      [...MEMORY_STATUSES]
    )
  })

  it.each(TABLE)(
    "%s: link %s, dismiss %s, triage %s, annotate %s",
    (before, link, dismiss, triage, annotate) => {
      const statusAfter = (operation: MemoryOperation) =>
        decideMemory(operation, inStatus(before), 2_000).status
      assert.strictEqual(statusAfter(OPERATIONS.link), link)
      assert.strictEqual(statusAfter(OPERATIONS.dismiss), dismiss)
      assert.strictEqual(statusAfter(OPERATIONS.triage), triage)
      assert.strictEqual(statusAfter(OPERATIONS.annotate), annotate)
    }
  )

  it("triage records priority and kind, and leaves what was not given (D6)", () => {
    const triaged = decideMemory(TRIAGE, inStatus("committed"), 2_000)
    assert.strictEqual(triaged.priority, "high")
    assert.strictEqual(triaged.kind, "note")
    const again = decideMemory({ ...TRIAGE, priority: undefined, kind: "metric" }, triaged, 3_000)
    assert.strictEqual(again.priority, "high")
    assert.strictEqual(again.kind, "metric")
  })

  it("a memory that is the source of a commitment becomes committed (D5)", () => {
    assert.strictEqual(commitMemory(inStatus("dismissed"), 2_000).status, "committed")
    assert.strictEqual(commitMemory(inStatus("untriaged"), 2_000).updatedAt, 2_000)
  })
})
