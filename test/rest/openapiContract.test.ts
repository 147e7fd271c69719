// The document against the running service: every documented answer of every path is really sent, and
// whatever the service sends (status, headers, body to the last field) is documented.
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { AUTHENTICATION, type Reply, startService, type TestService } from "../support/service.ts"
import { allExamples, assertDocumented, at, keysAt } from "./openapiValidator.ts"

let service: TestService
const seen = new Set<string>()
const messages = new Set<string>()

beforeAll(async () => {
  service = await startService()
})

afterAll(() => service.stop())

const observe = (path: string, reply: Reply, status: number): Reply => {
  const method = path === "/ops" ? "post" : "get"
  assert.strictEqual(reply.status, status, `${path} ${JSON.stringify(reply.body)}`)
  assertDocumented(path, method, reply)
  seen.add(`${path} ${status}`)
  if (status !== 200) messages.add(withoutIds(reply.body.error.message))
  return reply
}

const withoutIds = (text: string) => text.replaceAll(/(cmt|mem)_[0-9a-z]{26}/g, "$1_…")

const EXAMPLES = ["paths", "/ops", "post", "requestBody", "content", "application/json", "examples"]

const example = (op: string) => at([...EXAMPLES, op, "value"]) as { readonly id?: string }

const exampleId = (op: string) => example(op).id ?? ""

/** In the order of a life: the examples of the document are performed as they stand. */
const STORY = [
  "capture",
  "triage",
  "commit",
  "annotate",
  "claim",
  "submit",
  "approve",
  "close",
  "reopen",
  "claim",
  "release",
  "link",
  "dismiss",
  "webhook.register"
]

describe("every operation", () => {
  it("the examples are performed with the service's own ids in place of theirs", async () => {
    assert.sameMembers([...new Set(STORY)], [...keysAt(EXAMPLES)])
    const ids = new Map<string, string>()
    const asSent = (value: object): object => {
      const text = [...ids].reduce(
        (text, [from, to]) => text.replaceAll(from, to),
        JSON.stringify(value)
      )
      return JSON.parse(text)
    }
    for (const op of STORY) {
      const reply = await service.perform(asSent(example(op)))
      const { record_id } = observe("/ops", reply, 200).body
      if (op === "capture") ids.set(exampleId("triage"), record_id)
      if (op === "commit") ids.set(exampleId("claim"), record_id)
    }
  })
})

describe("every read", () => {
  it.each(["commitments", "memories"])(
    "%s: the list, an empty list, and each record of the list",
    async (name) => {
      await service.record({ op: "commit", title: "Nothing but a title" })
      await service.record({ op: "capture", body: "Nothing but a body" })
      const list = await service.get(`/${name}${name === "memories" ? "?status=all" : ""}`)
      const { data } = observe(`/${name}`, list, 200).body
      assert.isAtLeast(data.length, 2)
      for (const { id } of data) {
        observe(`/${name}/{id}`, await service.get(`/${name}/${id}`), 200)
      }
      observe(`/${name}`, await service.get(`/${name}?since=2099-01-01`), 200)
    }
  )

  it("commitments with everything that a record can have", async () => {
    const memory = await service.record({ op: "capture", body: "seen", kind: "note" })
    const id = await service.record({
      op: "commit",
      title: "full",
      source: memory,
      meta: { a: [1] }
    })
    await service.record({ op: "link", id: memory, target: id })
    await service.record({ op: "annotate", id: memory, body: "noted" })
    await service.record({ op: "claim", id, owner: "human:jane" })
    const evidence = [
      { type: "log", extra: { kept: true } },
      { type: "pr", url: null, label: "17" }
    ]
    await service.record({ op: "close", id, result: "fail", evidence, summary: "no" })
    observe("/commitments/{id}", await service.get(`/commitments/${id}`), 200)
    observe("/memories/{id}", await service.get(`/memories/${memory}`), 200)
  })

  it("status", async () => {
    observe("/status", await service.get("/status"), 200)
  })
})

const PATHS = [
  "/ops",
  "/status",
  "/commitments",
  "/commitments/{id}",
  "/memories",
  "/memories/{id}"
]

/** A request of the path that would be answered with 200 or 404, if nothing else were wrong. */
const send = (path: string, init: RequestInit = {}, at = service) =>
  at.request(path.replace("{id}", "none"), {
    ...(path === "/ops"
      ? { method: "POST", body: JSON.stringify({ op: "capture", body: "x" }) }
      : {}),
    ...init,
    headers: { "Content-Type": "application/json", ...init.headers }
  })

describe.each(PATHS)("every refusal of %s", (path) => {
  it("401: no token, and a wrong one", async () => {
    for (const token of ["", "wrong"]) {
      observe(path, await send(path, { headers: { "X-Proxy-Token": token } }), 401)
    }
  })

  it("403: another workspace, and none", async () => {
    for (const workspace of ["0190c0de-0000-7000-8000-00000000dead", ""]) {
      observe(path, await send(path, { headers: { "X-Workspace-Id": workspace } }), 403)
    }
  })

  it("405: a method that the path does not have", async () => {
    observe(path, await send(path, { method: "DELETE" }), 405)
  })
})

describe("every refusal of POST /ops", () => {
  it.each([
    ["malformed JSON", "{bad"],
    ["no object", "[]"],
    ["an unknown operation", '{"op":"delete"}'],
    ["a missing field", '{"op":"commit"}'],
    ["a wrong value", '{"op":"close","id":"cmt_1","result":"maybe","evidence":[]}']
  ])("400: %s", async (_name, body) => {
    observe("/ops", await send("/ops", { body }), 400)
  })

  it("400: another content type", async () => {
    observe("/ops", await send("/ops", { headers: { "Content-Type": "text/plain" } }), 400)
  })

  it("401: a bearer token for anything but webhook.register", async () => {
    const headers = {
      "X-Proxy-Token": "",
      Authorization: `Bearer ${AUTHENTICATION["X-Proxy-Token"]}`
    }
    observe("/ops", await send("/ops", { headers }), 401)
    const body = JSON.stringify(example("webhook.register"))
    observe("/ops", await send("/ops", { headers, body }), 200)
  })

  it("404: an unknown record", async () => {
    for (const op of ["claim", "link"]) {
      observe("/ops", await service.perform(example(op)), 404)
    }
  })

  it("422: a state that does not accept it, a close without evidence, a key used otherwise", async () => {
    const id = await service.record({ op: "commit", title: "t" })
    await service.record({ op: "claim", id, owner: "human:jane" })
    observe("/ops", await service.perform({ op: "claim", id, owner: "agent:late" }), 422)
    observe("/ops", await service.perform({ op: "close", id, result: "pass" }), 422)
    const key = { "Idempotency-Key": "one" }
    observe("/ops", await service.perform({ op: "annotate", id, body: "a" }, key), 200)
    observe("/ops", await service.perform({ op: "annotate", id, body: "b" }, key), 422)
  })
})

describe("every refusal of a read", () => {
  it.each([
    ["/status", "/status?%zz"],
    ["/commitments", "/commitments?limit=ten"],
    ["/commitments", "/commitments?state=done"],
    ["/commitments", "/commitments?since=yesterday"],
    ["/commitments/{id}", "/commitments/%zz"],
    ["/memories", "/memories?offset=-1"],
    ["/memories", "/memories?status=done"],
    ["/memories/{id}", "/memories/%zz"]
  ])("400: %s as %s", async (path, target) => {
    observe(path, await service.get(target), 400)
  })

  it.each([
    ["/commitments", "claim"],
    ["/memories", "triage"]
  ])("404: %s/ with the id of the example", async (path, op) => {
    observe(`${path}/{id}`, await service.get(`${path}/${exampleId(op)}`), 404)
  })
})

describe("when the database is gone", () => {
  it("500 with Retry-After, on every path", async () => {
    await using broken = await startService()
    await broken.database.drop()
    for (const path of PATHS) observe(path, await send(path, {}, broken), 500)
  })
})

it("every documented answer was sent", () => {
  const documented = PATHS.flatMap((path) =>
    keysAt(["paths", path, path === "/ops" ? "post" : "get", "responses"]).map(
      (status) => `${path} ${status}`
    )
  )
  assert.sameMembers([...seen], documented)
})

it("the documented error messages are the service's own words", () => {
  const documented = allExamples(["components", "responses"])
    .map(({ value }) => value as { readonly error?: { readonly message: string } })
    .flatMap(({ error }) => (error === undefined ? [] : [withoutIds(error.message)]))
  assert.isAtLeast(documented.length, 20)
  assert.deepStrictEqual(
    documented.filter((message) => !messages.has(message)),
    []
  )
})
