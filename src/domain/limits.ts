// Every limit on what a caller may send, in one table (decision D18). The README's table and the
// messages of the errors come from here.

export const LIMITS = {
  /** Nesting of a JSON body, the outermost object counting as 1. */
  jsonDepth: 64,
  /** Unicode code points of ids, owners, tags, kinds and priorities. */
  shortTextCharacters: 256,
  tags: 100,
  /** Characters of a record's `meta` as JSON, once operations have merged theirs into it. */
  mergedMetaCharacters: 1024 * 1024,
  evidenceItems: 1_000,
  /** Printable ASCII characters of an `Idempotency-Key`. */
  idempotencyKeyCharacters: 255,
  webhookUrlCharacters: 2_048,
  webhookSecretCharacters: 1_024,
  pageSize: 100,
  pageSizeDefault: 50,
  /** How much of a caller's own text an error message repeats. */
  quotedCharacters: 64
} as const

/** The caller's text as an error message may repeat it: short, printable, in quotes. */
export const quote = (text: string): string => {
  const characters = Array.from(text.slice(0, LIMITS.quotedCharacters * 2 + 2))
  const shown = characters.slice(0, LIMITS.quotedCharacters).join("")
  const cut = characters.length > LIMITS.quotedCharacters ? "…" : ""
  return `"${shown.replace(/[\p{C}\p{Zl}\p{Zp}"\\]/gu, "\u{fffd}")}${cut}"`
}

/** Code points, not UTF-16 units: what a person counts as characters. */
export const characterCount = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}
