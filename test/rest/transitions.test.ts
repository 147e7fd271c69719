// The spec's state tables with decisions D1 to D6: twelve operations in every state, from outside.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused, tableRows } from "./expectations.ts"
import {
  type CommitmentSituation,
  commitmentIn,
  type MemoryStatus,
  memoryIn,
  stateOf,
  UNKNOWN_COMMITMENT,
  UNKNOWN_MEMORY
} from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

/** What each operation carries beside the id of its record. */
const FIELDS: Readonly<Record<string, object>> = {
  capture: { body: "seen" },
  commit: { title: "new" },
  claim: { owner: "agent:two" },
  release: {},
  close: { result: "pass", evidence: [] },
  annotate: { body: "noted" },
  submit: {},
  approve: {},
  reopen: {},
  link: {},
  dismiss: {},
  triage: {}
}

/** Cells: the state after, or the code of the refusal. */
const expand = (table: string) => {
  const [[, ...situations] = [], ...rows] = tableRows(table)
  return rows.flatMap(([op = "", ...cells]) =>
    cells.map((after, index) => ({ op, after, before: situations[index] ?? "" }))
  )
}

const COMMITMENTS = `
           | open    | claimed   | in_review | closed by close | closed by approve | closed by both | open after reopen
  claim    | claimed | 422       | 422       | 422             | 422               | 422            | claimed
  release  | 422     | open      | 422       | 422             | 422               | 422            | 422
  submit   | 422     | in_review | 422       | 422             | 422               | 422            | 422
  approve  | 422     | 422       | closed    | 422             | 422               | 422            | 422
  close    | closed  | closed    | closed    | 422             | closed            | 422            | closed
  reopen   | 422     | 422       | 422       | open            | open              | open           | 422
  annotate | open    | claimed   | in_review | closed          | closed            | closed         | open
  link     | open    | claimed   | in_review | closed          | closed            | closed         | open
  dismiss  | 404     | 404       | 404       | 404             | 404               | 404            | 404
  triage   | 404     | 404       | 404       | 404             | 404               | 404            | 404
  commit   | open    | claimed   | in_review | closed          | closed            | closed         | open
  capture  | open    | claimed   | in_review | closed          | closed            | closed         | open
`

/** The states that the message of a 422 must name as required. */
const REQUIRED: Readonly<Record<string, ReadonlyArray<string>>> = {
  claim: ["open"],
  release: ["claimed"],
  submit: ["claimed"],
  approve: ["in_review"],
  close: ["open", "claimed", "in_review"],
  reopen: ["closed"]
}

describe("a commitment: before | operation | after, or the code", () => {
  it.each(expand(COMMITMENTS))("$before | $op | $after", async ({ after, before, op }) => {
    const situation = before as CommitmentSituation
    const id = await commitmentIn(service, situation)
    const earlier = (await service.get(`/commitments/${id}`)).body.data
    const subject = op === "link" ? { id: await memoryIn(service), target: id } : { id }
    const reply = await service.perform({ op, ...subject, ...FIELDS[op] })
    const later = (await service.get(`/commitments/${id}`)).body.data
    if (after === "422") {
      const states = [stateOf(situation), ...(REQUIRED[op] ?? [])]
      assertRefused(reply, "VALIDATION_ERROR", [op, id, ...states.map((state) => `"${state}"`)])
    } else if (after === "404") assertRefused(reply, "NOT_FOUND", [id])
    else {
      assertPerformed(reply)
      assert.strictEqual(later.state, after)
    }
    if (after === "422" || after === "404") assert.deepStrictEqual(later, earlier)
  })
})

const MEMORIES = `
           | untriaged | triaged   | linked    | committed | dismissed
  triage   | triaged   | triaged   | linked    | committed | triaged
  link     | linked    | linked    | linked    | linked    | linked
  dismiss  | dismissed | dismissed | dismissed | dismissed | dismissed
  annotate | untriaged | triaged   | linked    | committed | dismissed
  source   | committed | committed | committed | committed | committed
  claim    | 404       | 404       | 404       | 404       | 404
  release  | 404       | 404       | 404       | 404       | 404
  submit   | 404       | 404       | 404       | 404       | 404
  approve  | 404       | 404       | 404       | 404       | 404
  close    | 404       | 404       | 404       | 404       | 404
  reopen   | 404       | 404       | 404       | 404       | 404
  commit   | untriaged | triaged   | linked    | committed | dismissed
  capture  | untriaged | triaged   | linked    | committed | dismissed
`

describe("a memory: before | operation | after, or the code", () => {
  it.each(expand(MEMORIES))("$before | $op | $after", async ({ after, before, op }) => {
    const id = await memoryIn(service, before as MemoryStatus)
    const earlier = (await service.get(`/memories/${id}`)).body.data
    const target = op === "link" ? { target: await commitmentIn(service) } : {}
    const operation =
      op === "source" ? { op: "commit", title: "from it", source: id } : { op, id, ...FIELDS[op] }
    const reply = await service.perform({ ...operation, ...target })
    const later = (await service.get(`/memories/${id}`)).body.data
    if (after === "404") {
      assertRefused(reply, "NOT_FOUND", [id])
      assert.deepStrictEqual(later, earlier)
    } else {
      assertPerformed(reply)
      assert.strictEqual(later.status, after)
    }
  })
})

describe("an unknown id is 404, and the message names it", () => {
  const unknown = [
    ...["claim", "release", "close", "annotate", "submit", "approve", "reopen"].map((op) => ({
      op,
      id: UNKNOWN_COMMITMENT
    })),
    ...["annotate", "dismiss", "triage"].map((op) => ({ op, id: UNKNOWN_MEMORY })),
    ...["cmt_", "mem_", "nonsense", "op_01h455vb4pex5vsknk084sn02q", "cmt_..%2f", "1"].map(
      (id) => ({ op: "annotate", id })
    ),
    { op: "claim", id: UNKNOWN_COMMITMENT.toUpperCase() }
  ]
  it.each(unknown)("$op $id", async ({ id, op }) => {
    assertRefused(await service.perform({ op, id, ...FIELDS[op] }), "NOT_FOUND", [id])
  })

  it.each([
    ["an unknown memory", UNKNOWN_MEMORY, undefined, UNKNOWN_MEMORY],
    ["an unknown commitment", undefined, UNKNOWN_COMMITMENT, UNKNOWN_COMMITMENT],
    ["a commitment to a commitment", UNKNOWN_COMMITMENT, undefined, UNKNOWN_COMMITMENT],
    ["a memory to a memory", undefined, UNKNOWN_MEMORY, UNKNOWN_MEMORY]
  ])("link %s", async (_name, memory, commitment, named) => {
    const id = memory ?? (await memoryIn(service))
    const target = commitment ?? (await commitmentIn(service))
    assertRefused(await service.perform({ op: "link", id, target }), "NOT_FOUND", [named])
  })

  it.each([UNKNOWN_MEMORY, UNKNOWN_COMMITMENT, "nonsense"])("commit from %s", async (source) => {
    const reply = await service.perform({ op: "commit", title: "x", source })
    assertRefused(reply, "NOT_FOUND", [source])
  })
})
