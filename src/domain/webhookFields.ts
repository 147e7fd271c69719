// The fields of `webhook.register` (D14): what a receiver's address, its secret and its filters may
// be. Settings and the command line parse the same fields.
import { z } from "zod"
import { optional, spokenText } from "./fields.ts"
import { LIMITS } from "./limits.ts"

/** «The only event type is `commitment.state_changed`.» */
export const EVENT_TYPES = ["commitment.state_changed"] as const

/** States that a callback can announce: those that a callback move leads to. */
export const FILTER_STATES = ["claimed", "closed"] as const

/** As it is dialled: two spellings of one URL are one endpoint. */
const normalized = (url: string) => (URL.canParse(url) ? new URL(url).href : url)

const nonEmptyListOf = <const Names extends ReadonlyArray<string>>(names: Names) =>
  z
    .array(z.enum(names, { error: `must be one of: ${names.join(", ")}` }), {
      error: "must be an array of strings"
    })
    .min(1, { error: "must not be empty" })
    .max(LIMITS.tags, { error: `must have at most ${LIMITS.tags} items` })
    .transform((given) => Array.from(new Set(given)))

export const webhookFields = {
  url: spokenText
    .refine((url) => URL.canParse(url), { error: "must be an absolute URL" })
    .refine((url) => normalized(url).length <= LIMITS.webhookUrlCharacters, {
      error: `must have at most ${LIMITS.webhookUrlCharacters} characters, also when it is escaped`
    })
    .meta({
      format: "uri",
      maxLength: LIMITS.webhookUrlCharacters,
      examples: ["https://example.org/ledger-events"]
    })
    .transform(normalized),
  secret: spokenText.max(LIMITS.webhookSecretCharacters, {
    error: `must have at most ${LIMITS.webhookSecretCharacters} characters`
  }),
  events: optional(nonEmptyListOf(EVENT_TYPES)),
  states: optional(nonEmptyListOf(FILTER_STATES)),
  workspaceId: optional(spokenText)
}
