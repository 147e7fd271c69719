// The OpenAPI document by itself: fresh, complete, clean to the linters, true in its examples, and as
// strict as the parser of operations.
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import { Result } from "effect"
import { assert, describe, it } from "vitest"
import { LISTED_OPERATIONS, parseOperation } from "../../src/domain/operations.ts"
import { openApiDocument, renderOpenApiDocument } from "../../src/rest/openapi.ts"
import { API_VERSION } from "../../src/version.ts"
import { allExamples, at, keysAt, problems, resolved } from "./openapiValidator.ts"

const root = path.resolve(import.meta.dirname, "../..")
const FILE = "openapi/openapi.json"

const METHODS = ["get", "post"]
const operations = keysAt(["paths"]).flatMap((path) =>
  keysAt(["paths", path])
    .filter((method) => METHODS.includes(method))
    .map((method) => ({ path, place: ["paths", path, method] }))
)

it("openapi/openapi.json is what the code says (npm run openapi)", () => {
  assert.strictEqual(fs.readFileSync(path.join(root, FILE), "utf8"), renderOpenApiDocument())
})

it("is the same every time", () => {
  assert.deepStrictEqual(openApiDocument(), openApiDocument())
})

it("says what it is: OpenAPI 3.1, the API's version, the MIT license, the default address", () => {
  assert.strictEqual(at(["openapi"]), "3.1.0")
  assert.strictEqual(at(["info", "title"]), "Workspace Ledger")
  assert.strictEqual(at(["info", "version"]), API_VERSION)
  assert.strictEqual(at(["info", "license", "identifier"]), "MIT")
  const servers = at(["servers"]) as ReadonlyArray<{ url: string }>
  assert.deepStrictEqual(
    servers.map(({ url }) => url),
    ["https://127.0.0.1:8443"]
  )
})

it("has the spec's six paths", () => {
  assert.deepStrictEqual(
    operations.map(({ place }) => `${place[2]} ${place[1]}`),
    [
      "post /ops",
      "get /status",
      "get /commitments",
      "get /commitments/{id}",
      "get /memories",
      "get /memories/{id}"
    ]
  )
})

it("POST /ops is one of thirteen operations, told apart by op", () => {
  const place = ["components", "schemas", "Operation"]
  const mapping = at([...place, "discriminator", "mapping"]) as Record<string, string>
  assert.strictEqual(at([...place, "discriminator", "propertyName"]), "op")
  assert.deepStrictEqual(Object.keys(mapping), [...LISTED_OPERATIONS, "webhook.register"])
  const references = at([...place, "oneOf"]) as ReadonlyArray<{ $ref: string }>
  assert.deepStrictEqual(
    references.map(({ $ref }) => $ref),
    Object.values(mapping)
  )
  for (const [op, reference] of Object.entries(mapping)) {
    const schema = reference.slice(2).split("/")
    assert.strictEqual(at([...schema, "properties", "op", "const"]), op)
    const undescribed = keysAt([...schema, "properties"]).filter(
      (field) => field !== "op" && at([...schema, "properties", field, "description"]) === undefined
    )
    assert.deepStrictEqual(undescribed, [], op)
  }
})

describe("what an operation requires", () => {
  it.each([
    ["Capture", ["op", "body"]],
    ["Commit", ["op", "title"]],
    ["Claim", ["op", "id", "owner"]],
    ["Release", ["op", "id"]],
    ["Close", ["op", "id", "result", "evidence"]],
    ["Annotate", ["op", "id", "body"]],
    ["Submit", ["op", "id"]],
    ["Approve", ["op", "id"]],
    ["Reopen", ["op", "id"]],
    ["Link", ["op", "id", "target"]],
    ["Dismiss", ["op", "id"]],
    ["Triage", ["op", "id"]],
    ["WebhookRegister", ["op", "url", "secret"]]
  ])("%s: %j", (name, required) => {
    assert.deepStrictEqual(at(["components", "schemas", `${name}Operation`, "required"]), required)
  })
})

it("every operation names the statuses that its path can send", () => {
  const statuses = Object.fromEntries(
    operations.map(({ path, place }) => [path, keysAt([...place, "responses"]).map(Number)])
  )
  assert.deepStrictEqual(statuses, {
    "/ops": [200, 400, 401, 403, 404, 405, 422, 500],
    "/status": [200, 400, 401, 403, 405, 500],
    "/commitments": [200, 400, 401, 403, 405, 500],
    "/commitments/{id}": [200, 400, 401, 403, 404, 405, 500],
    "/memories": [200, 400, 401, 403, 405, 500],
    "/memories/{id}": [200, 400, 401, 403, 404, 405, 500]
  })
})

it("asks for the token as the security scheme, and for the workspace as a required header", () => {
  assert.deepStrictEqual(at(["security"]), [{ ProxyToken: [] }])
  for (const { path, place } of operations) {
    const parameters = at([...place, "parameters"]) as ReadonlyArray<{ $ref?: string }>
    assert.isTrue(
      parameters.some(({ $ref }) => $ref === "#/components/parameters/WorkspaceId"),
      path
    )
  }
  const workspace = at(["components", "parameters", "WorkspaceId"])
  assert.containSubset(workspace, {
    name: "X-Workspace-Id",
    in: "header",
    required: true,
    schema: { type: "string", format: "uuid" }
  })
})

it("leads from a performed operation to its record", () => {
  const links = at(["paths", "/ops", "post", "responses", "200", "links"]) as Record<string, object>
  assert.deepStrictEqual(
    Object.values(links).map((link) => ("operationId" in link ? link.operationId : "")),
    ["getCommitment", "getMemory"]
  )
})

it("says null in a list of types, as OpenAPI 3.1 does", () => {
  assert.notInclude(renderOpenApiDocument(), '"nullable"')
})

describe("examples", () => {
  const examples = allExamples()

  it("there is one of each operation, answer, error and callback", () => {
    const withoutExample = operations
      .flatMap(({ place }) => [
        [...place, "requestBody"],
        ...keysAt([...place, "responses"]).map((status) =>
          resolved([...place, "responses", status])
        )
      ])
      .filter((place) => at([...place, "content"]) !== undefined)
      .filter((place) => keysAt([...place, "content", "application/json", "examples"]).length === 0)
    assert.deepStrictEqual(withoutExample, [])
    const requests = ["paths", "/ops", "post", "requestBody", "content", "application/json"]
    assert.lengthOf(keysAt([...requests, "examples"]), 13)
  })

  it("every one is valid by its schema", () => {
    assert.isAtLeast(examples.length, 70)
    const invalid = examples
      .map(({ schema, title, value }) => ({ title, problems: problems(schema, value) }))
      .filter(({ problems }) => problems.length > 0)
    assert.deepStrictEqual(invalid, [])
  })
})

describe("linters find nothing, not even a warning", () => {
  const run = promisify(execFile)
  const offline = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
  const lint = (program: string, ...args: ReadonlyArray<string>) =>
    run(process.execPath, [path.join(root, "node_modules", program), ...args], {
      cwd: root,
      env: { ...process.env, ...offline }
    })

  it("Redocly, recommended-strict", async () => {
    const { stdout } = await lint("@redocly/cli/bin/cli.js", "lint", FILE, "--format=json")
    const { problems, totals } = JSON.parse(stdout)
    assert.deepStrictEqual(problems, [])
    assert.containSubset(totals, { errors: 0, warnings: 0, ignored: 0 })
  }, 30_000)

  it("Spectral, spectral:oas", async () => {
    const { stdout } = await lint(
      "@stoplight/spectral-cli/dist/index.js",
      "lint",
      FILE,
      "--ruleset=.spectral.yaml",
      "--format=json",
      "--fail-severity=hint",
      "--quiet"
    )
    assert.deepStrictEqual(JSON.parse(stdout), [])
  }, 30_000)
})

describe("the schema of an operation accepts exactly what the parser accepts", () => {
  const VALUES = [
    undefined,
    null,
    "",
    " ",
    "text",
    "ä".repeat(256),
    "😀".repeat(256),
    "a".repeat(257),
    "pass",
    "https://example.org/hook",
    "not a url",
    1,
    true,
    {},
    { nested: [1] },
    [],
    [null],
    ["text"],
    ["a,b"],
    [" "],
    Array.from({ length: 101 }, (_, index) => `tag ${index}`),
    ["claimed", "closed"],
    ["in_review"],
    ["commitment.state_changed"],
    [{ type: "test" }],
    [{ type: "test", url: null, label: "x", payload: {}, more: 1 }],
    [{ type: " " }],
    [{ body: "no type" }],
    [{ type: "test", payload: [] }]
  ]
  const requests = ["paths", "/ops", "post", "requestBody", "content", "application/json"]

  it.each(keysAt([...requests, "examples"]))("%s, with each field given in many ways", (op) => {
    const example = at([...requests, "examples", op, "value"]) as Record<string, unknown>
    const name = at(["components", "schemas", "Operation", "discriminator", "mapping", op])
    const schema = String(name).slice(2).split("/")
    for (const field of keysAt([...schema, "properties"]).filter((field) => field !== "op")) {
      for (const value of VALUES) {
        const { [field]: _given, ...others } = example
        const body = value === undefined ? others : { ...others, [field]: value }
        const bySchema = problems([...requests, "schema"], body)
        const title = `${field} ${JSON.stringify(value)?.slice(0, 60)} ${bySchema.join(", ")}`
        assert.strictEqual(bySchema.length === 0, Result.isSuccess(parseOperation(body)), title)
      }
    }
  })
})
