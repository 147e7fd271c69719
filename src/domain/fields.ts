// The kinds of field that operations and queries are made of: each a zod schema with the limit it
// holds, and the sentence that is said when a value does not fit.
import { z } from "zod"
import { characterCount, LIMITS } from "./limits.ts"

const shortEnough = (text: string) =>
  text.length <= LIMITS.shortTextCharacters || characterCount(text) <= LIMITS.shortTextCharacters

/** «`null` on an optional field is absent» (D10). */
export const optional = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined)

/** Any text, also an empty one. */
export const text = z.string({ error: "must be a string" })

/** Text that says something: «blank required strings: 400» (D10). */
export const spokenText = text.regex(/\S/, { error: "must not be blank" })

const limited = <Schema extends z.ZodString>(schema: Schema) =>
  schema
    .refine(shortEnough, {
      error: `must have at most ${LIMITS.shortTextCharacters} characters`
    })
    .meta({ maxLength: LIMITS.shortTextCharacters })

/** Identifiers, owners, kinds, priorities. */
export const shortText = limited(text)
export const spokenShortText = limited(spokenText)

export const metadata = z.record(z.string(), z.unknown(), { error: "must be an object" })

/** «trimmed, deduplicated, no comma» (D19). */
export const tags = z
  .array(
    limited(spokenText).refine((tag) => !tag.includes(","), {
      error: "must not contain a comma, which separates tags in list queries"
    }),
    { error: "must be an array of strings" }
  )
  .max(LIMITS.tags, { error: `must have at most ${LIMITS.tags} items` })
  .transform((given) => Array.from(new Set(given.map((tag) => tag.trim()))))

const evidenceItem = z.looseObject(
  {
    type: spokenShortText.meta({
      description: "Such as build, test, pr, screenshot or log.",
      examples: ["test"]
    }),
    url: optional(text).meta({ description: "Link to the evidence." }),
    body: optional(text).meta({ description: "Description or inline content." }),
    label: optional(text),
    payload: optional(metadata)
  },
  { error: "must be an object" }
)

export const evidence = z
  .array(evidenceItem, { error: "must be an array of evidence objects" })
  .max(LIMITS.evidenceItems, { error: `must have at most ${LIMITS.evidenceItems} items` })
