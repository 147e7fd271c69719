// JSON schemas of the peer's requests and of its receipt, for Fastify's compiled validators and
// serialiser.
const text = { type: "string", minLength: 1, maxLength: 65_536 }
const shortText = { type: "string", minLength: 1, maxLength: 256 }
const tags = { type: "array", items: shortText, maxItems: 100 }
const meta = { type: "object" }

const operation = (op: string, required: ReadonlyArray<string>, properties: object) => ({
  type: "object",
  required: ["op", ...required],
  properties: { op: { const: op }, ...properties, meta }
})

const evidence = {
  type: "array",
  items: {
    type: "object",
    required: ["type"],
    properties: { type: shortText, url: { type: "string" }, body: { type: "string" } }
  }
}

export const OPERATION_BODY = {
  type: "object",
  required: ["op"],
  discriminator: { propertyName: "op" },
  oneOf: [
    operation("capture", ["body"], { body: text, kind: shortText, tags }),
    operation("commit", ["title"], { title: text, body: text, tags, priority: shortText }),
    operation("claim", ["id", "owner"], { id: shortText, owner: shortText }),
    operation("close", ["id", "result", "evidence"], {
      id: shortText,
      result: { enum: ["pass", "fail"] },
      evidence,
      summary: text
    })
  ]
}

export const PAGE_QUERY = {
  type: "object",
  properties: {
    limit: { type: "integer", minimum: 1, maximum: 100, default: 50 },
    offset: { type: "integer", minimum: 0, default: 0 }
  }
}

export const RECEIPT = {
  type: "object",
  properties: {
    success: { type: "boolean" },
    op_id: { type: "string" },
    record_id: { type: "string" }
  }
}
