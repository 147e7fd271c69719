// How an item of a beads export becomes operations, and which lines of a file are refused.
import { assert, describe, it } from "vitest"
import { planProblem } from "../../src/cli/importBeads/performImport.ts"
import { planItem, remaining } from "../../src/cli/importBeads/planItem.ts"
import { type BeadsItem, readExport } from "../../src/cli/importBeads/readExport.ts"

const LEAST = { id: "bd-1", title: "Fix it", status: "open" }

const itemOf = (fields: object): BeadsItem => {
  const { items, problems } = readExport(JSON.stringify({ ...LEAST, ...fields }))
  assert.deepEqual(problems, [])
  return items[0] ?? assert.fail("no item")
}
const plan = (fields: object) => planItem(itemOf(fields))

describe("an item as a commitment", () => {
  it("the least that an item has", () => {
    assert.deepEqual(plan({}), {
      commit: {
        op: "commit",
        title: "Fix it",
        body: undefined,
        tags: [],
        priority: undefined,
        meta: { beads: { id: "bd-1", status: "open" } }
      },
      later: []
    })
  })

  it.each([
    [0, "critical"],
    [1, "high"],
    [2, "medium"],
    [3, "low"],
    [4, "low"],
    [null, undefined]
  ])("priority %s is %s", (priority, expected) => {
    assert.strictEqual(plan({ priority }).commit.priority, expected)
  })

  it.each<[string, object, string | undefined]>([
    ["description", { description: "why" }, "why"],
    ["nothing", { description: " ", design: "" }, undefined],
    [
      "all sections",
      { description: "why", design: "how", acceptance_criteria: "when" },
      "why\n\n## Design\n\nhow\n\n## Acceptance criteria\n\nwhen"
    ],
    ["design alone", { design: "how" }, "## Design\n\nhow"]
  ])("body: %s", (_, fields, expected) => {
    assert.strictEqual(plan(fields).commit.body, expected)
  })

  it("labels become tags without commas and doubles, and stay in meta as they were", () => {
    const labels = ["a,b", " a;b ", "", "gt:message", "x".repeat(300)]
    const { commit } = plan({ labels })
    assert.deepEqual(commit.tags, ["a;b", "gt:message", "x".repeat(256)])
    assert.deepInclude(commit.meta?.beads as object, { labels })
  })

  it("more labels than a record may have tags are kept in meta", () => {
    const labels = Array.from({ length: 120 }, (_, index) => `label-${index}`)
    const item = itemOf({ labels })
    assert.strictEqual(planItem(item).commit.tags?.length, 100)
    assert.strictEqual(planProblem(item), undefined)
  })

  it("what has no place of its own is in meta.beads", () => {
    const kept = {
      parent: "bd-0",
      issue_type: "epic",
      priority: 1,
      created_at: "2026-02-28T03:42:10Z",
      closed_at: "2026-02-28T03:42:10Z",
      dependencies: [{ depends_on_id: "bd-2", metadata: "{}" }],
      anything: { else: true }
    }
    const placed = { description: "d", design: "e", notes: "n", close_reason: "r" }
    const { commit } = plan({ ...kept, ...placed })
    assert.deepEqual(commit.meta, { beads: { id: "bd-1", status: "open", ...kept } })
  })
})

const claim = { op: "claim", owner: "jane" }
const close = { op: "close", result: "pass", evidence: [] }
const note = { op: "annotate", body: "half way", kind: "note" }

describe("what happens to the commitment after it is made", () => {
  it.each<[string, object, ReadonlyArray<object>]>([
    ["open", { status: "open" }, []],
    ["open and assigned: nobody has begun", { status: "open", assignee: "jane" }, []],
    ["deferred and assigned", { status: "deferred", assignee: "jane" }, []],
    ["in progress", { status: "in_progress", assignee: "jane" }, [claim]],
    ["in progress by nobody", { status: "in_progress" }, []],
    ["hooked", { status: "hooked", assignee: " jane " }, [claim]],
    ["pinned", { status: "pinned", assignee: "jane" }, [claim]],
    ["closed by nobody", { status: "closed" }, [close]],
    ["closed by somebody", { status: "closed", assignee: "jane" }, [claim, close]],
    ["a blank assignee is none", { status: "closed", assignee: " " }, [close]],
    [
      "closed for a reason",
      { status: "closed", close_reason: "done" },
      [{ ...close, summary: "done", evidence: [{ type: "log", body: "done" }] }]
    ],
    ["notes", { notes: "half way" }, [note]],
    ["everything", { status: "closed", assignee: "jane", notes: "half way" }, [claim, note, close]]
  ])("%s", (_, fields, expected) => {
    assert.deepEqual(plan(fields).later as ReadonlyArray<object>, expected)
  })
})

describe("what is still to be done for an item that was imported before", () => {
  const whole = plan({ status: "closed", assignee: "jane", notes: "half way" })
  const noted = { op: "annotate", body: "half way" }
  const done = (op: string) => ({ op, body: undefined })
  it.each<[string, ReadonlyArray<{ op: string; body: string | undefined }>, ReadonlyArray<string>]>(
    [
      ["nothing was done", [], ["claim", "annotate", "close"]],
      ["claimed", [done("claim")], ["annotate", "close"]],
      ["claimed and annotated", [done("claim"), noted], ["close"]],
      ["all of it", [done("claim"), noted, done("close")], []],
      [
        "annotated with something else",
        [{ op: "annotate", body: "other" }],
        ["claim", "annotate", "close"]
      ],
      ["closed by somebody without a claim", [done("close")], ["annotate"]],
      ["approved by somebody", [done("claim"), done("submit"), done("approve")], ["annotate"]],
      [
        "reopened by somebody: it stays open",
        [done("claim"), noted, done("close"), done("reopen")],
        []
      ],
      ["released by somebody: it stays so", [done("claim"), done("release"), noted], ["close"]]
    ]
  )("%s", (_, operations, expected) => {
    const names = remaining(whole, { id: "cmt_x", operations }).map(({ op }) => op)
    assert.deepEqual(names, expected)
  })
})

describe("lines of a file", () => {
  const line = (fields: object) => JSON.stringify({ ...LEAST, ...fields })

  it("a byte order mark, empty lines and line ends of Windows are no problem", () => {
    const { items, problems } = readExport(`\u{feff}${line({})}\r\n\r\n${line({ id: "bd-2" })}\n`)
    assert.deepEqual(problems, [])
    assert.deepEqual(
      items.map(({ id, line }) => [id, line]),
      [
        ["bd-1", 1],
        ["bd-2", 3]
      ]
    )
  })

  it.each([
    ["{", "not JSON"],
    ["[]", "not a JSON object"],
    ["null", "not a JSON object"],
    [line({ id: undefined }), '"id" is missing'],
    [line({ title: " " }), '"title" must not be blank'],
    [line({ title: 7 }), '"title" must be a string'],
    [line({ status: undefined }), '"status" is missing'],
    [line({ priority: 5 }), '"priority" must be 0 to 4'],
    [line({ priority: "high" }), '"priority" must be an integer'],
    [line({ labels: "a" }), '"labels" must be an array'],
    [line({ assignee: {} }), '"assignee" must be a string'],
    ['{"id":"bd-9","title":"\\u0000","status":"open"}', "NUL"],
    ['{"id":"bd-9","title":"\\ud800","status":"open"}', "surrogate"]
  ])("refused: %s", (content, message) => {
    const { items, problems } = readExport(`${line({})}\n${content}`)
    assert.strictEqual(items.length, 1)
    assert.strictEqual(problems.length, 1)
    assert.strictEqual(problems[0]?.line, 2)
    assert.include(problems[0]?.message, message)
  })

  it("the same id twice is refused, naming both lines", () => {
    const { problems } = readExport(`${line({})}\n\n${line({ title: "Other" })}`)
    assert.deepEqual(problems, [{ line: 3, message: 'the item "bd-1" is also on line 1' }])
  })

  it("what the ledger itself would refuse is found before anything is imported", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(63)}1${"}".repeat(63)}`)
    assert.include(planProblem(itemOf({ deep: deep.a })) ?? "", "nested deeper")
  })
})
