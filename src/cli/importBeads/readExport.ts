// A beads export as it is in a file: one JSON object a line. The whole file is checked before anything
// is imported, and each line that cannot be is named.
import { Result } from "effect"
import { z } from "zod"
import { isJsonObject, type JsonObject, jsonProblem } from "../../domain/jsonValue.ts"
import { quote } from "../../domain/limits.ts"

const said = z.string({ error: "must be a string" }).regex(/\S/, { error: "must not be blank" })
const text = z.string({ error: "must be a string" }).nullish()

/** The fields that the import understands; whatever else an item has is kept with them. */
const BeadsFields = z.looseObject({
  id: said,
  title: said,
  description: text,
  design: text,
  acceptance_criteria: text,
  notes: text,
  status: said,
  priority: z
    .int({ error: "must be an integer" })
    .min(0, { error: "must be 0 to 4" })
    .max(4, { error: "must be 0 to 4" })
    .nullish(),
  assignee: text,
  labels: z.array(z.string({ error: "must be a string" }), { error: "must be an array" }).nullish(),
  close_reason: text,
  created_at: text
})

export interface BeadsItem extends z.output<typeof BeadsFields> {
  /** Everything that the line holds. */
  readonly given: JsonObject
  /** Its line in the file, counted from 1. */
  readonly line: number
}

export interface LineProblem {
  readonly line: number
  readonly message: string
}

export interface BeadsExport {
  readonly items: ReadonlyArray<BeadsItem>
  readonly problems: ReadonlyArray<LineProblem>
}

/** Reads the text of a beads export. Empty lines are skipped; an item may be there only once. */
export const readExport = (text: string): BeadsExport => {
  const items = new Map<string, BeadsItem>()
  const problems: Array<LineProblem> = []
  for (const [index, content] of text
    .replace(/^\u{feff}/u, "")
    .split("\n")
    .entries()) {
    const line = index + 1
    if (content.trim() === "") continue
    const item = readLine(content, line)
    if (Result.isFailure(item)) {
      problems.push({ line, message: item.failure })
      continue
    }
    const { id } = item.success
    const earlier = items.get(id)
    if (earlier === undefined) items.set(id, item.success)
    else problems.push({ line, message: `the item ${quote(id)} is also on line ${earlier.line}` })
  }
  return { items: Array.from(items.values()), problems }
}

const readLine = (content: string, line: number): Result.Result<BeadsItem, string> => {
  const parsed = Result.try((): unknown => JSON.parse(content))
  if (Result.isFailure(parsed)) return Result.fail("it is not JSON")
  const given = parsed.success
  if (!isJsonObject(given)) return Result.fail("it is not a JSON object")
  const problem = jsonProblem(given)
  if (problem !== undefined) return Result.fail(problem)
  const fields = BeadsFields.safeParse(given)
  if (fields.success) return Result.succeed({ ...fields.data, given, line })
  const issue = fields.error.issues[0]
  const name = String(issue?.path[0] ?? "")
  return Result.fail(
    given[name] === undefined
      ? `the field ${quote(name)} is missing`
      : `the field ${quote(name)} ${issue?.message ?? "is not valid"}`
  )
}
