// What a caller may send, for the model: which fields each operation needs and takes, and which problem
// is answered first. Written from the documents; shares no code with the service.

export type Code = "INVALID_REQUEST" | "NOT_FOUND" | "VALIDATION_ERROR"

// biome-ignore lint/suspicious/noExplicitAny: whatever a caller may send, also what is no operation.
export type Sent = Readonly<Record<string, any>>

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === "string"
const saysSomething: Check = (value) => typeof value === "string" && value.trim() !== ""
const isObject: Check = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const areTags: Check = (value) =>
  Array.isArray(value) && value.every((tag) => saysSomething(tag) && !tag.includes(","))
const isEvidence: Check = (value) =>
  Array.isArray(value) && value.every((item) => isObject(item) && saysSomething(item.type))
const isResult: Check = (value) => value === "pass" || value === "fail"

interface Shape {
  readonly required: Readonly<Record<string, Check>>
  readonly optional: Readonly<Record<string, Check>>
}

const id = saysSomething

/** The spec's table «Fields per operation», with `source` (D5) and the registration (D14). */
const SHAPES: Readonly<Record<string, Shape>> = {
  capture: { required: { body: saysSomething }, optional: { kind: isText, tags: areTags } },
  commit: {
    required: { title: saysSomething },
    optional: { body: isText, tags: areTags, priority: isText, source: saysSomething }
  },
  claim: { required: { id, owner: saysSomething }, optional: {} },
  release: { required: { id }, optional: { reason: isText } },
  close: { required: { id, result: isResult }, optional: { summary: isText } },
  annotate: { required: { id, body: saysSomething }, optional: { kind: isText } },
  submit: { required: { id }, optional: { body: isText, evidence: isEvidence } },
  approve: { required: { id }, optional: { body: isText } },
  reopen: { required: { id }, optional: { reason: isText } },
  link: { required: { id, target: saysSomething }, optional: {} },
  dismiss: { required: { id }, optional: { reason: isText } },
  triage: { required: { id }, optional: { priority: isText, kind: isText, body: isText } },
  "webhook.register": { required: { url: saysSomething, secret: saysSomething }, optional: {} }
}

export const isGiven = (value: unknown) => value !== undefined && value !== null

/** D11: unknown operation, then missing and ill-typed fields, then missing evidence. */
export const problemOf = (sent: Sent): Code | undefined => {
  const shape = typeof sent.op === "string" ? SHAPES[sent.op] : undefined
  if (shape === undefined) return "INVALID_REQUEST"
  const { optional, required } = shape
  const fields = { ...optional, meta: isObject }
  for (const [name, check] of Object.entries(required)) {
    if (!isGiven(sent[name]) || !check(sent[name])) return "INVALID_REQUEST"
  }
  for (const [name, check] of Object.entries(fields)) {
    if (isGiven(sent[name]) && !check(sent[name])) return "INVALID_REQUEST"
  }
  if (sent.op !== "close") return undefined
  if (!isGiven(sent.evidence)) return "VALIDATION_ERROR"
  return isEvidence(sent.evidence) ? undefined : "INVALID_REQUEST"
}

export const normalTags = (
  tags: ReadonlyArray<string> | null | undefined
): ReadonlyArray<string> => [...new Set((tags ?? []).map((tag) => tag.trim()))]

/** The operation without what says nothing: unknown fields, nulls, repeated tags. Text to compare. */
export const canonical = (sent: Sent): string => {
  const { optional, required } = SHAPES[String(sent.op)] ?? { optional: {}, required: {} }
  const names = ["op", "meta", "evidence", ...Object.keys(required), ...Object.keys(optional)]
  const given = names.filter((name) => isGiven(sent[name])).toSorted()
  return sortedJson(
    given.map((name) => [name, name === "tags" ? normalTags(sent.tags) : sent[name]])
  )
}

/** JSON in which the order of an object's keys says nothing. */
const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_key, inner) =>
    isObject(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner
  )
