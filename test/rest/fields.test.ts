// The spec's table of fields, operation by operation: missing, null, ill-typed and blank fields, what
// is optional, what is ignored (D10, D14), and the two messages that the spec words.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused, operationCount } from "./expectations.ts"
import { commitmentIn, memoryIn, UNKNOWN_COMMITMENT, UNKNOWN_MEMORY } from "./records.ts"

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.stop())

type Kind = "text" | "tags" | "evidence" | "object" | "result" | "names"

interface OperationFields {
  readonly required: Readonly<Record<string, Kind>>
  readonly optional: Readonly<Record<string, Kind>>
}

const meta = "object"

/** The spec's table «fields per operation», and `source` and `webhook.register` (D5, D14). */
const OPERATIONS: Readonly<Record<string, OperationFields>> = {
  capture: { required: { body: "text" }, optional: { kind: "text", tags: "tags", meta } },
  commit: {
    required: { title: "text" },
    optional: { body: "text", tags: "tags", priority: "text", source: "text", meta }
  },
  claim: { required: { id: "text", owner: "text" }, optional: { meta } },
  release: { required: { id: "text" }, optional: { reason: "text", meta } },
  close: { required: { id: "text", result: "result" }, optional: { summary: "text", meta } },
  annotate: { required: { id: "text", body: "text" }, optional: { kind: "text", meta } },
  submit: { required: { id: "text" }, optional: { body: "text", evidence: "evidence", meta } },
  approve: { required: { id: "text" }, optional: { body: "text", meta } },
  reopen: { required: { id: "text" }, optional: { reason: "text", meta } },
  link: { required: { id: "text", target: "text" }, optional: { meta } },
  dismiss: { required: { id: "text" }, optional: { reason: "text", meta } },
  triage: {
    required: { id: "text" },
    optional: { priority: "text", kind: "text", body: "text", meta }
  },
  "webhook.register": {
    required: { url: "text", secret: "text" },
    optional: { events: "names", states: "names", workspaceId: "text", meta }
  }
}

/** A value of each kind that is accepted, and values that are not. */
const GOOD: Readonly<Record<string, unknown>> = {
  title: "a title",
  body: "a body",
  owner: "agent:one",
  result: "pass",
  target: UNKNOWN_COMMITMENT,
  url: "https://receiver.test/hook",
  secret: "a secret"
}
const NO_TEXT = [0, 1.5, true, false, [], ["text"], {}]
const BLANK = ["", " ", "\t\r\n", "\u3000"]
const BAD: Readonly<Record<Kind, ReadonlyArray<unknown>>> = {
  text: NO_TEXT,
  result: [...NO_TEXT, "", "PASS", "passed", "pass ", "null"],
  tags: [0, true, "a,b", {}, [1], [null], [["a"]], [""], [" "], ["a,b"]],
  evidence: [0, true, "x", {}, [null], [1], ["x"], [[]], [{}], [{ type: "" }], [{ type: 1 }]],
  object: [0, true, "x", []],
  names: [0, true, "claimed", {}, [], [1], [null], ["*"], ["nonsense"]]
}

const DOCUMENTS = ["link", "dismiss", "triage"]

/** An operation that has all its required fields, about a record that does not exist. */
const complete = (op: string): Record<string, unknown> => {
  const required = Object.keys(OPERATIONS[op]?.required ?? {})
  const id = DOCUMENTS.includes(op) ? UNKNOWN_MEMORY : UNKNOWN_COMMITMENT
  const fields = required.map((field) => [field, field === "id" ? id : GOOD[field]])
  return { op, ...Object.fromEntries(fields), ...(op === "close" ? { evidence: [] } : {}) }
}

const shown = (value: unknown) => (value === undefined ? "missing" : JSON.stringify(value))

const withoutField = (operation: Record<string, unknown>, field: string, value: unknown) => {
  const { [field]: _, ...rest } = operation
  return value === undefined ? rest : { ...rest, [field]: value }
}

const requiredRows = Object.entries(OPERATIONS).flatMap(([op, { required }]) =>
  Object.entries(required).map(([field, kind]) => ({ op, field, kind }))
)
const optionalRows = Object.entries(OPERATIONS).flatMap(([op, { optional }]) =>
  Object.entries(optional).map(([field, kind]) => ({ op, field, kind }))
)

describe("a required field that is missing, null, ill-typed or blank is 400", () => {
  it.each(requiredRows)("$op: $field", async ({ field, kind, op }) => {
    const before = await operationCount(service)
    const blank = kind === "text" ? BLANK : []
    for (const value of [undefined, null, ...BAD[kind], ...blank]) {
      const reply = await service.perform(withoutField(complete(op), field, value))
      assert.strictEqual(reply.status, 400, `${op} with ${field} ${shown(value)}`)
      assertRefused(reply, "INVALID_REQUEST", [`"${op}"`, `"${field}`])
    }
    assert.strictEqual(await operationCount(service), before)
  })
})

describe("an optional field that is ill-typed is 400", () => {
  it.each(optionalRows)("$op: $field", async ({ field, kind, op }) => {
    for (const value of BAD[kind]) {
      const reply = await service.perform({ ...complete(op), [field]: value })
      assert.strictEqual(reply.status, 400, `${op} with ${field} ${shown(value)}`)
      assertRefused(reply, "INVALID_REQUEST", [`"${op}"`, `"${field}`])
    }
  })
})

describe("close and its evidence", () => {
  it("without evidence is 422, and the message says that an empty array is acceptable", async () => {
    const id = await commitmentIn(service, "claimed")
    for (const evidence of [undefined, null]) {
      const reply = await service.perform({ op: "close", id, result: "pass", evidence })
      assertRefused(reply, "VALIDATION_ERROR", ["close", "evidence", "empty array"])
    }
    assertPerformed(await service.perform({ op: "close", id, result: "pass", evidence: [] }))
  })

  it("that is ill-typed is 400", async () => {
    for (const evidence of BAD.evidence) {
      const reply = await service.perform({ ...complete("close"), evidence })
      assertRefused(reply, "INVALID_REQUEST", ['"close"', '"evidence'])
    }
  })

  it.each(["url", "body", "label"])("whose item has a %s that is no text is 400", async (field) => {
    for (const value of NO_TEXT) {
      const evidence = [{ type: "log", [field]: value }]
      const reply = await service.perform({ ...complete("close"), evidence })
      assertRefused(reply, "INVALID_REQUEST", ['"close"', `"evidence[0].${field}"`])
    }
  })

  it("is asked for after every other field", async () => {
    const { evidence: _, ...operation } = complete("close")
    for (const field of ["id", "result"]) {
      const reply = await service.perform(withoutField(operation, field, undefined))
      assertRefused(reply, "INVALID_REQUEST", [`"${field}"`])
    }
    const illTyped = await service.perform({ ...operation, summary: 1 })
    assertRefused(illTyped, "INVALID_REQUEST", ['"summary"'])
  })
})

const LISTED =
  "capture, commit, claim, release, close, annotate, submit, approve, reopen, link, dismiss, triage"

describe("op", () => {
  it.each([
    "",
    " claim",
    "CLAIM",
    "claims",
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "webhook.delete",
    "webhook.registers"
  ])("%j is unknown: the message names it and lists the twelve", async (op) => {
    const reply = await service.perform({ op, id: UNKNOWN_COMMITMENT, owner: "me" })
    assertRefused(reply, "INVALID_REQUEST", [`"${op}"`, LISTED])
    assert.notInclude(reply.body.error.message, "webhook.register,")
    assert.notInclude(reply.body.error.message, ", webhook.register")
  })

  it.each([[undefined], [null], [1], [true], [[]], [["claim"]], [{}], [{ claim: 1 }]])(
    "%j is refused, and the message lists the twelve",
    async (op) => {
      const reply = await service.perform({ op, id: UNKNOWN_COMMITMENT, owner: "me" })
      assertRefused(reply, "INVALID_REQUEST", ['"op"', LISTED])
    }
  )

  it("of a million characters is cut in the message", async () => {
    assertRefused(await service.perform({ op: "x".repeat(1_000_000) }), "INVALID_REQUEST", [LISTED])
  })
})

describe("null on an optional field is the field's absence", () => {
  it.each(Object.entries(OPERATIONS))("%s", async (op, { optional }) => {
    const nulls = Object.fromEntries(Object.keys(optional).map((field) => [field, null]))
    const subject =
      op === "capture" || op === "commit" || op === "webhook.register"
        ? {}
        : { id: DOCUMENTS.includes(op) ? await memoryIn(service) : await subjectOf(op) }
    const target = op === "link" ? { target: await commitmentIn(service) } : {}
    const id = assertPerformed(
      await service.perform({ ...complete(op), ...subject, ...target, ...nulls })
    )
    if (!id.startsWith("cmt_")) return
    const { history, meta } = (await service.get(`/commitments/${id}`)).body.data
    assert.deepStrictEqual(meta, {})
    const shownFields = Object.keys(history.at(-1)).slice(4)
    assert.deepStrictEqual(
      shownFields.filter((field) => field in optional),
      []
    )
  })

  const subjectOf = (op: string) => {
    if (op === "approve") return commitmentIn(service, "in_review")
    if (op === "reopen") return commitmentIn(service, "closed by close")
    return commitmentIn(service, op === "claim" ? "open" : "claimed")
  }

  it("also within evidence", async () => {
    const id = await commitmentIn(service)
    const item = { type: "log", url: null, body: null, label: null, payload: null }
    await service.record({ op: "close", id, result: "pass", evidence: [item] })
    const { evidence } = (await service.get(`/commitments/${id}`)).body.data
    assert.deepStrictEqual(evidence, [{ type: "log" }])
  })
})
