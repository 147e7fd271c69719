// When two errors apply, the earlier one of D11 is answered: every pair of them, in one table.
import { afterAll, beforeAll, describe, it } from "vitest"
import { AUTHENTICATION, startService, type TestService } from "../support/service.ts"
import { assertRefused, type Code, STATUS_OF_CODE } from "./expectations.ts"
import { commitmentIn, UNKNOWN_COMMITMENT } from "./records.ts"

let service: TestService
let closed: string
beforeAll(async () => {
  service = await startService()
  closed = await commitmentIn(service, "closed by both")
})
afterAll(() => service.stop())

/** A request as its parts; each fault spoils one. */
interface Draft {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly operation: object
  readonly text?: string
}

const sound = (): Draft => ({
  method: "POST",
  path: "/ops",
  headers: { ...AUTHENTICATION, "Content-Type": "application/json" },
  operation: { op: "close", id: closed, result: "pass", evidence: [] }
})

interface Fault {
  readonly name: string
  readonly code: Code
  readonly status?: number
  /** What its message has, so that faults of one code are told apart. */
  readonly part: string
  readonly spoil: (draft: Draft) => Draft
}

const withHeader = (draft: Draft, name: string, value: string): Draft => ({
  ...draft,
  headers: { ...draft.headers, [name]: value }
})
const withFields = (draft: Draft, fields: object): Draft => ({
  ...draft,
  operation: { ...draft.operation, ...fields }
})

/** D11, in its order. A wrong path or method leaves no body to look at, so both stand as they are. */
const FAULTS: ReadonlyArray<Fault> = [
  {
    name: "invalid token",
    code: "UNAUTHORIZED",
    part: "token",
    spoil: (draft) => withHeader(draft, "X-Proxy-Token", "nobody's-token-0123456789abcdefgh")
  },
  {
    name: "foreign workspace",
    code: "FORBIDDEN",
    part: "X-Workspace-Id",
    spoil: (draft) => withHeader(draft, "X-Workspace-Id", "0190c0de-0000-7000-8000-000000000002")
  },
  {
    name: "unknown path",
    code: "NOT_FOUND",
    part: "/nowhere",
    spoil: (draft) => ({ ...draft, path: "/nowhere" })
  },
  {
    name: "wrong method",
    code: "INVALID_REQUEST",
    status: 405,
    part: "PUT",
    spoil: (draft) => ({ ...draft, method: "PUT" })
  },
  {
    name: "content type",
    code: "INVALID_REQUEST",
    part: "Content-Type",
    spoil: (draft) => withHeader(draft, "Content-Type", "text/plain")
  },
  {
    name: "body too large",
    code: "INVALID_REQUEST",
    part: "larger",
    spoil: (draft) => ({ ...draft, text: " ".repeat(1024 * 1024 + 1) })
  },
  {
    name: "malformed JSON",
    code: "INVALID_REQUEST",
    part: "JSON",
    spoil: (draft) => ({ ...draft, text: draft.text ?? "{bad" })
  },
  {
    name: "unknown operation",
    code: "INVALID_REQUEST",
    part: "Unknown operation",
    spoil: (draft) => withFields(draft, { op: "closed" })
  },
  {
    name: "ill-typed field",
    code: "INVALID_REQUEST",
    part: '"summary"',
    spoil: (draft) => withFields(draft, { summary: 1 })
  },
  {
    name: "missing evidence",
    code: "VALIDATION_ERROR",
    part: "empty array",
    spoil: (draft) => withFields(draft, { evidence: undefined })
  },
  {
    name: "unknown record",
    code: "NOT_FOUND",
    part: UNKNOWN_COMMITMENT,
    spoil: (draft) => withFields(draft, { id: UNKNOWN_COMMITMENT })
  },
  { name: "state", code: "VALIDATION_ERROR", part: '"closed"', spoil: (draft) => draft }
]

const send = ({ headers, method, operation, path, text }: Draft) =>
  service.request(path, { method, headers, body: text ?? JSON.stringify(operation) })

describe("D11: of two faults the earlier is answered", () => {
  const pairs = FAULTS.flatMap((first, index) =>
    FAULTS.slice(index + 1).map((second) => ({
      first,
      second,
      name: `${first.name} > ${second.name}`
    }))
  )
  it.each(pairs)("$name", async ({ first, second }) => {
    const reply = await send(first.spoil(second.spoil(sound())))
    const status = first.status ?? STATUS_OF_CODE[first.code]
    assertRefused(reply, first.code, [first.part], status)
  })
})
