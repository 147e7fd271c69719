// Who a command is, to the ledger: an operator without a token, under a label that is recorded as the
// actor of what the command does (D21).
import { Effect } from "effect"
import { Flag } from "effect/cli"
import type { Caller } from "../domain/authenticate.ts"
import { jsonProblem } from "../domain/jsonValue.ts"
import { characterCount, LIMITS } from "../domain/limits.ts"
import { CommandError } from "./environment.ts"

export const actorFlag = (label: string) =>
  Flag.String("actor").pipe(
    Flag.withDescription(`Who is recorded as the actor (default: ${label})`),
    Flag.withMetavar("label"),
    Flag.withDefault(label)
  )

/** Stands where a token's id would: operators are let in by the database, not by a token. */
const NO_TOKEN = "cli"

const MESSAGE = `--actor must be one line of 1 to ${LIMITS.shortTextCharacters} characters.`

export const commandCaller = (
  workspaceId: string,
  actor: string
): Effect.Effect<Caller, CommandError> => {
  const label = actor.trim()
  const fits =
    label !== "" &&
    characterCount(label) <= LIMITS.shortTextCharacters &&
    jsonProblem(label) === undefined &&
    !/\p{Cc}/u.test(label)
  return fits
    ? Effect.succeed({ workspaceId, tokenId: NO_TOKEN, actor: label, role: "admin" })
    : Effect.fail(new CommandError({ code: "INVALID_REQUEST", message: MESSAGE }))
}
