// Fields that a caller sends and no operation has: they are ignored, whatever they hold (D10).
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed } from "./expectations.ts"
import { commitmentIn, memoryIn } from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

const ASSIGNED = {
  id: "cmt_01h455vb4pex5vsknk084sn02q",
  state: "closed",
  status: "dismissed",
  result: "pass",
  owner: "somebody",
  actor: "human:mallory",
  op_id: "op_01h455vb4pex5vsknk084sn02q",
  record_id: "cmt_01h455vb4pex5vsknk084sn02q",
  seq: 1,
  created_at: "2001-01-01T00:00:00.000Z",
  updated_at: "2001-01-01T00:00:00.000Z",
  timestamp: "2001-01-01T00:00:00.000Z",
  workspace_id: "00000000-0000-0000-0000-000000000000",
  workspaceId: "00000000-0000-0000-0000-000000000000",
  success: false,
  history: [{ op: "approve" }],
  annotations: [{ body: "forged" }],
  linked_memories: [{ id: "x" }]
}

it("commit takes none of a record's own fields from its caller", async () => {
  const id = assertPerformed(
    await service.perform({ ...ASSIGNED, op: "commit", title: "an ordinary one" })
  )
  assert.notStrictEqual(id, ASSIGNED.id)
  const { data } = (await service.get(`/commitments/${id}`)).body
  assert.deepInclude(data, { state: "open", result: null, owner: null, linked_memories: [] })
  assert.deepInclude(data, { id, meta: {}, evidence: [] })
  assert.lengthOf(data.history, 1)
  assert.notStrictEqual(data.created_at, ASSIGNED.created_at)
  assert.notStrictEqual(data.updated_at, ASSIGNED.updated_at)
  assert.notStrictEqual(data.history[0].actor, ASSIGNED.actor)
})

it("capture takes none of a record's own fields from its caller", async () => {
  const id = await service.record({ ...ASSIGNED, op: "capture", body: "an ordinary one" })
  const { data } = (await service.get(`/memories/${id}`)).body
  assert.deepInclude(data, { id, status: "untriaged", priority: null, annotations: [] })
})

/** Operations without evidence, with what each is performed on. */
const WITHOUT_EVIDENCE = [
  { op: "claim", on: "open", owner: "agent:one" },
  { op: "release", on: "claimed" },
  { op: "annotate", on: "open", body: "noted" },
  { op: "approve", on: "in_review" },
  { op: "reopen", on: "closed by approve" }
] as const

describe("evidence on an operation that has none is ignored", () => {
  it.each(WITHOUT_EVIDENCE)("$op", async ({ on, ...operation }) => {
    for (const evidence of ["x", [1, "x"], [null], [{ type: "forged" }]]) {
      const id = await commitmentIn(service, on)
      assertPerformed(await service.perform({ ...operation, id, evidence }))
      const { data } = (await service.get(`/commitments/${id}`)).body
      assert.deepStrictEqual(data.evidence, [])
    }
  })

  it.each([
    { op: "commit", title: "new" },
    { op: "capture", body: "seen" }
  ])("$op", async (operation) => {
    for (const evidence of ["x", [1, "x"], [null], [{ type: "forged" }]]) {
      const id = assertPerformed(await service.perform({ ...operation, evidence }))
      if (operation.op === "commit") {
        const { data } = (await service.get(`/commitments/${id}`)).body
        assert.deepStrictEqual(data.evidence, [])
      }
    }
  })

  it.each(["dismiss", "triage"])("%s", async (op) => {
    const id = await memoryIn(service)
    assertPerformed(await service.perform({ op, id, evidence: [null] }))
  })
})
