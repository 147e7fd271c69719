// A request target as path segments and query parameters, read strictly: no clever URL parser stands
// between what was sent and what is routed.
import { Result } from "effect"
import { InvalidRequest } from "../domain/errors.ts"

export interface Target {
  /** Percent-decoded segments: `/commitments/x` is `["commitments", "x"]`. */
  readonly segments: ReadonlyArray<string>
  readonly query: ReadonlyArray<readonly [name: string, value: string]>
}

const malformed = (message: string) => Result.fail(new InvalidRequest({ message }))

/** Reads origin form (`/path?query`) and absolute form (`https://host/path?query`). */
export const parseTarget = (target: string): Result.Result<Target, InvalidRequest> => {
  const originForm = target.replace(/^https?:\/\/[^/?#[\]\\\s]+/i, "")
  const [beforeFragment = ""] = originForm.split("#", 1)
  const mark = beforeFragment.indexOf("?")
  const path = mark === -1 ? beforeFragment : beforeFragment.slice(0, mark)
  if (path !== "" && !path.startsWith("/")) return malformed("The request target is not a path.")
  const segments = path.split("/").slice(1).map(decode)
  const query = mark === -1 ? [] : beforeFragment.slice(mark + 1).split("&")
  const pairs = query.filter((pair) => pair !== "").map(decodePair)
  if (segments.includes(undefined)) return malformed("The path holds an invalid percent escape.")
  if (pairs.includes(undefined)) return malformed("The query holds an invalid percent escape.")
  return Result.succeed({ segments: segments as Array<string>, query: pairs as Target["query"] })
}

const decode = (text: string): string | undefined => {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** `+` is a space, as in forms. */
const decodePair = (pair: string): readonly [string, string] | undefined => {
  const mark = pair.indexOf("=")
  const name = decode((mark === -1 ? pair : pair.slice(0, mark)).replaceAll("+", " "))
  const value = decode((mark === -1 ? "" : pair.slice(mark + 1)).replaceAll("+", " "))
  return name === undefined || value === undefined ? undefined : [name, value]
}
