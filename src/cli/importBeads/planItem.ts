// Pure: what a beads item is as operations of the ledger, and which of them are still to be done.
// The table in the command's help says the same in words.
import type { ImportedCommitment } from "../../domain/importedWork.ts"
import type { JsonObject } from "../../domain/jsonValue.ts"
import { characterCount, LIMITS } from "../../domain/limits.ts"
import type { OperationInput } from "../../domain/operations.ts"
import type { BeadsItem } from "./readExport.ts"

type InputOf<Name extends string> = Extract<OperationInput, { op: Name }>
/** An operation on a commitment whose id is not known yet. */
type On<Name extends string> = Omit<InputOf<Name>, "id">

export interface ItemPlan {
  readonly commit: InputOf<"commit">
  /** In this order, after the commit. */
  readonly later: ReadonlyArray<On<"claim"> | On<"annotate"> | On<"close">>
}

/** `meta.beads` of a commitment; its `id` is how a later import knows it again. */
export const SOURCE = "beads"

export const planItem = (item: BeadsItem): ItemPlan => ({
  commit: {
    op: "commit",
    title: item.title,
    body: bodyOf(item),
    tags: tagsOf(item.labels ?? []),
    priority:
      item.priority === null || item.priority === undefined ? undefined : PRIORITIES[item.priority],
    meta: { [SOURCE]: metaOf(item.given) }
  },
  later: [...claimOf(item), ...notesOf(item), ...closeOf(item)]
})

const PRIORITIES = ["critical", "high", "medium", "low", "low"] as const

const isSaid = (text: string | null | undefined): text is string => /\S/.test(text ?? "")

const SECTIONS = [
  ["design", "## Design"],
  ["acceptance_criteria", "## Acceptance criteria"]
] as const

const bodyOf = (item: BeadsItem): string | undefined => {
  const sections = SECTIONS.flatMap(([name, heading]) =>
    isSaid(item[name]) ? [`${heading}\n\n${item[name]}`] : []
  )
  const parts = isSaid(item.description) ? [item.description, ...sections] : sections
  return parts.length === 0 ? undefined : parts.join("\n\n")
}

/** Commas separate tags in list queries. The labels as they were stay in `meta.beads.labels`. */
const tagsOf = (labels: ReadonlyArray<string>): Array<string> => {
  const tags = labels
    .map((label) => shortened(label.replaceAll(",", ";").trim()))
    .filter((tag) => tag !== "")
  return Array.from(new Set(tags)).slice(0, LIMITS.tags)
}

const shortened = (text: string): string =>
  characterCount(text) <= LIMITS.shortTextCharacters
    ? text
    : Array.from(text).slice(0, LIMITS.shortTextCharacters).join("").trim()

/** These have a place of their own in the commitment or in its history. */
const PLACED: ReadonlySet<string> = new Set([
  "title",
  "description",
  ...SECTIONS.map(([name]) => name),
  "notes",
  "close_reason"
])

const metaOf = (given: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !PLACED.has(name)))

/** Assigned, but nobody has begun: these stay open. */
const NOT_BEGUN: ReadonlySet<string> = new Set(["open", "deferred"])

const claimOf = ({ assignee, status }: BeadsItem): ReadonlyArray<On<"claim">> =>
  isSaid(assignee) && !NOT_BEGUN.has(status)
    ? [{ op: "claim", owner: shortened(assignee.trim()) }]
    : []

const notesOf = ({ notes }: BeadsItem): ReadonlyArray<On<"annotate">> =>
  isSaid(notes) ? [{ op: "annotate", body: notes, kind: "note" }] : []

const closeOf = ({ close_reason, status }: BeadsItem): ReadonlyArray<On<"close">> => {
  if (status !== "closed") return []
  if (!isSaid(close_reason)) return [{ op: "close", result: "pass", evidence: [] }]
  const evidence = [{ type: "log", body: close_reason }]
  return [{ op: "close", result: "pass", summary: close_reason, evidence }]
}

/**
 * What of the plan has not happened to the commitment yet, whoever did it: an interrupted import is
 * completed, a newer export adds its claims, notes and closes, and what people did since stays.
 */
export const remaining = (
  plan: ItemPlan,
  { operations }: ImportedCommitment
): ItemPlan["later"] => {
  const done = new Set(operations.map(({ op }) => op))
  const isClosed = done.has("close") || done.has("approve")
  return plan.later.filter((operation) => {
    switch (operation.op) {
      case "claim":
        return !done.has("claim") && !isClosed
      case "close":
        return !isClosed
      case "annotate":
        return !operations.some(({ body }) => body === operation.body)
      default:
        return false
    }
  })
}
