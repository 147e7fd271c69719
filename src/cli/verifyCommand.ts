// `ledger verify`: recomputes hash chains and projections, and exits 1 when something does not match.
import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import type { WorkspaceView } from "../domain/settings.ts"
import { type Verification, verifyWorkspace } from "../domain/verify.ts"
import { findWorkspaces, JsonFlag, layerCommand, workspaceFlag } from "./environment.ts"
import { answer, table } from "./output.ts"
import { AlreadyReported } from "./report.ts"

interface Checked {
  readonly workspace: WorkspaceView
  readonly verification: Verification
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

const fieldsOf = ({ verification, workspace }: Checked) => ({
  workspace_id: workspace.id,
  name: workspace.name,
  ok: verification.problem === undefined,
  entries: verification.entries,
  commitments: verification.commitments,
  memories: verification.memories,
  links: verification.links,
  last_hash: hex(verification.lastHash),
  ...(verification.problem && { problem: verification.problem })
})

const rowOf = ({ verification, workspace }: Checked) => [
  workspace.id,
  workspace.name,
  verification.problem === undefined ? "ok" : "DIFFERS",
  String(verification.entries),
  String(verification.commitments),
  String(verification.memories),
  hex(verification.lastHash)
]

const HEADINGS = ["WORKSPACE", "NAME", "RESULT", "ENTRIES", "COMMITMENTS", "MEMORIES", "LAST HASH"]

const reportProblems = Effect.fnUntraced(function* (checked: ReadonlyArray<Checked>) {
  const workspaces = checked.map(fieldsOf)
  const problems = workspaces.flatMap(({ problem, workspace_id }) =>
    problem === undefined ? [] : [`${workspace_id}: ${problem.message}`]
  )
  if (yield* JsonFlag) {
    const error = { code: "VERIFICATION_FAILED", message: problems.join("\n") }
    yield* Console.log(JSON.stringify({ ok: false, error, workspaces }))
  } else {
    yield* Console.log(table(HEADINGS, checked.map(rowOf)).join("\n"))
    yield* Console.error(problems.map((problem) => `error: ${problem}`).join("\n"))
  }
  return yield* new AlreadyReported()
})

export const verifyCommand = Command.make(
  "verify",
  {
    workspace: workspaceFlag.pipe(
      Flag.withDescription("Id or name of one workspace; all are checked if it is not given")
    )
  },
  Effect.fn(function* ({ workspace }) {
    const workspaces = yield* findWorkspaces(workspace)
    const checked = yield* Effect.forEach(workspaces, (workspace) =>
      Effect.map(
        verifyWorkspace(workspace.id),
        (verification): Checked => ({ workspace, verification })
      )
    )
    const isSound = checked.every(({ verification }) => verification.problem === undefined)
    if (!isSound) return yield* reportProblems(checked)
    yield* answer({ workspaces: checked.map(fieldsOf) }, table(HEADINGS, checked.map(rowOf)))
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Check that nobody has changed the ledger or its records"),
  Command.withDescription(
    "Check that nobody has changed the ledger: recomputes every entry's hash, replays the entries into records, and compares commitments, memories, links, counts and head with the tables. Tells the first thing that does not match and exits 1. Runs beside the service. Checks every workspace unless one is named. Keep LAST HASH elsewhere to prove later that no entry before it was replaced."
  ),
  Command.withExamples([
    { command: "ledger verify", description: "Every workspace" },
    {
      command: "ledger verify --workspace payments --json",
      description: "One workspace, for a script"
    }
  ])
)
