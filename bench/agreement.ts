// Before anything is timed: both services are given the same work and must answer alike, in status
// and in shape. A comparison with a service that does less would prove nothing.
import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { BenchError } from "./processes.ts"
import { headersOf, type Subject } from "./subjects.ts"

export const requireAgreement = Effect.fnUntraced(function* (ours: Subject, peer: Subject) {
  const [one, other] = yield* Effect.all([answersOf(ours), answersOf(peer)])
  for (const [index, answer] of one.entries()) {
    if (isDeepStrictEqual(answer, other[index])) continue
    const message = `The services disagree:\n${ours.name}: ${JSON.stringify(answer)}\n${peer.name}: ${JSON.stringify(other[index])}`
    return yield* new BenchError({ message })
  }
})

const answersOf = (subject: Subject) =>
  Effect.tryPromise({
    try: () => converse(subject),
    catch: (error) => new BenchError({ message: `${subject.name}: ${String(error)}` })
  })

const converse = async ({ accesses: [access], baseUrl }: Subject) => {
  const headers = headersOf(access)
  const answers: Array<unknown> = []
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${baseUrl}${path}`, { headers, ...init })
    const body = JSON.parse(await response.text())
    // The words of a refusal are each service's own.
    answers.push([
      path.split("/")[1],
      response.status,
      response.ok ? shapeOf(body) : body.error.code
    ])
    return body
  }
  const perform = (operation: object): Promise<{ record_id: string }> =>
    ask("/ops", { method: "POST", body: JSON.stringify(operation) })

  await ask("/status")
  await perform({ op: "capture", body: "Something was seen", kind: "note", tags: ["one"] })
  const { record_id: id } = await perform({ op: "commit", title: "Do it", priority: "high" })
  await perform({ op: "claim", id, owner: "agent:one" })
  await perform({ op: "claim", id, owner: "agent:two" })
  const evidence = [{ type: "test", body: "passed" }]
  await perform({ op: "close", id, result: "pass", evidence, summary: "Done" })
  await perform({ op: "claim", id: "cmt_00000000000000000000000000", owner: "agent:one" })
  await perform({ op: "capture" })
  await ask(`/commitments/${id}`)
  await ask("/commitments?limit=50")
  await ask("/status")
  await ask("/status", { headers: { ...headers, "X-Proxy-Token": "x".repeat(40) } })
  return answers
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Values, with ids and times (which differ) replaced by what they are; keys in order of name. */
const shapeOf = (value: unknown): unknown => {
  if (typeof value === "string") {
    if (TIME.test(value)) return "a time"
    return /^(cmt|mem|op)_/.exec(value)?.[0] ?? value
  }
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== "object" || value === null) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map((key) => [key, shapeOf(Reflect.get(value, key))]))
}
