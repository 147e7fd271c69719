// What the two lists can be asked (D7, D9): the parameters as zod shapes, and their way from what a
// caller wrote to a filter that the store understands.
import { Result } from "effect"
import { z } from "zod"
import { InvalidRequest } from "./errors.ts"
import { jsonProblem } from "./jsonValue.ts"
import { characterCount, LIMITS, quote } from "./limits.ts"
import { parseIso } from "./time.ts"
import {
  COMMITMENT_STATES,
  type CommitmentState,
  MEMORY_STATUSES,
  type MemoryStatus
} from "./vocabulary.ts"

const pageParameters = {
  limit: z
    .int({ error: "must be an integer" })
    .min(1, { error: "must be at least 1" })
    .optional()
    .meta({
      description: `Page size. Default ${LIMITS.pageSizeDefault}; more than ${LIMITS.pageSize} is ${LIMITS.pageSize}.`,
      examples: [LIMITS.pageSizeDefault]
    }),
  offset: z
    .int({ error: "must be an integer" })
    .min(0, { error: "must be at least 0" })
    .optional()
    .meta({ description: "Records to skip. Default 0.", examples: [0] })
}

const text = z.string({ error: "must be a string" })

const oneOf = <const Names extends readonly [string, ...Array<string>]>(names: Names) =>
  z.enum(names, { error: `must be one of: ${names.join(", ")}` })

const since = (what: string) =>
  text.optional().meta({
    description: `ISO 8601; only ${what} after this time. For polling, pass the Ledger-Time header of the last first page.`,
    examples: ["2026-11-20T10:15:30.123Z"]
  })

/** The query parameters of `GET /commitments`; `reopened` is ours (D4). */
export const CommitmentListQuery = z.object({
  state: oneOf(COMMITMENT_STATES)
    .optional()
    .meta({ description: "Only commitments in this state.", examples: ["open"] }),
  owner: text
    .optional()
    .meta({ description: "Only commitments of this owner.", examples: ["agent:claude"] }),
  tags: text.optional().meta({
    description: "Comma-separated; a commitment matches if it has any of them.",
    examples: ["backend,urgent"]
  }),
  reopened: z
    .boolean({ error: "must be true or false" })
    .optional()
    .meta({ description: "true: only commitments that are open because of a reopen." }),
  ...pageParameters,
  since: since("commitments updated")
})

/** The query parameters of `GET /memories`; `status` is ours (D7). */
export const MemoryListQuery = z.object({
  kind: text.optional().meta({ description: "Only memories of this kind.", examples: ["note"] }),
  status: oneOf([...MEMORY_STATUSES, "all"])
    .optional()
    .meta({ description: "Only memories of this status; all shows dismissed ones too." }),
  ...pageParameters,
  since: since("memories created")
})

export type CommitmentListQuery = z.input<typeof CommitmentListQuery>
export type MemoryListQuery = z.input<typeof MemoryListQuery>

interface PageRange {
  readonly limit: number
  readonly offset: number
}

export interface CommitmentFilter {
  readonly state: CommitmentState | "reopened" | undefined
  readonly owner: string | undefined
  readonly tags: ReadonlyArray<string> | undefined
  readonly reopened: boolean | undefined
  /** Exclusive, milliseconds since the epoch. */
  readonly since: number | undefined
  readonly page: PageRange
}

export interface MemoryFilter {
  readonly kind: string | undefined
  /** Undefined: everything but dismissed memories. */
  readonly status: MemoryStatus | "all" | undefined
  readonly since: number | undefined
  readonly page: PageRange
}

export const commitmentFilter = (
  query: z.output<typeof CommitmentListQuery>
): Result.Result<CommitmentFilter, InvalidRequest> =>
  checked(query, (time) => ({
    state: query.state,
    owner: given(query.owner),
    tags: tagList(query.tags),
    reopened: query.reopened,
    since: time,
    page: pageRange(query)
  }))

export const memoryFilter = (
  query: z.output<typeof MemoryListQuery>
): Result.Result<MemoryFilter, InvalidRequest> =>
  checked(query, (time) => ({
    kind: given(query.kind),
    status: query.status,
    since: time,
    page: pageRange(query)
  }))

/** «An empty parameter is absent» (D9). */
const given = (text: string | undefined) => (text === "" ? undefined : text)

const tagList = (tags: string | undefined): ReadonlyArray<string> | undefined => {
  const list = (tags ?? "")
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "")
  return list.length === 0 ? undefined : Array.from(new Set(list))
}

/** «`limit` above 100 is clamped to 100 and `pagination.limit` says so» (D9). */
const pageRange = (query: {
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}) => ({
  limit: Math.min(query.limit ?? LIMITS.pageSizeDefault, LIMITS.pageSize),
  offset: query.offset ?? 0
})

const checked = <Filter>(
  query: { readonly since?: string | undefined; readonly tags?: string | undefined },
  filter: (since: number | undefined) => Filter
): Result.Result<Filter, InvalidRequest> => {
  const problem = jsonProblem(query) ?? lengthProblem(query)
  if (problem !== undefined) return Result.fail(new InvalidRequest({ message: problem }))
  const since = given(query.since)
  if (since === undefined) return Result.succeed(filter(undefined))
  const time = parseIso(since)
  if (time !== undefined) return Result.succeed(filter(time))
  const message = `The query parameter "since" must be an ISO 8601 date or date-time with zone, not ${quote(since)}.`
  return Result.fail(new InvalidRequest({ message }))
}

/** No record has a longer owner, kind or tag, nor more tags. */
const lengthProblem = (query: object): string | undefined => {
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== "string") continue
    const texts = name === "tags" ? value.split(",") : [value]
    if (texts.length > LIMITS.tags) {
      return `The query parameter "tags" must have at most ${LIMITS.tags} items.`
    }
    if (texts.some((text) => characterCount(text) > LIMITS.shortTextCharacters)) {
      return `The query parameter "${name}" must have at most ${LIMITS.shortTextCharacters} characters.`
    }
  }
  return undefined
}
