// `ledger import …`: work that was tracked elsewhere, performed as operations of the ledger.
import { Console, Effect, FileSystem } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { actorFlag, commandCaller } from "./caller.ts"
import {
  CommandError,
  JsonFlag,
  layerCommand,
  resolveWorkspace,
  workspaceFlag
} from "./environment.ts"
import {
  type ItemFailure,
  isDone,
  performWork,
  planProblem,
  planWork,
  type Tally,
  tallyOf
} from "./importBeads/performImport.ts"
import { type BeadsExport, readExport } from "./importBeads/readExport.ts"
import { answer, properties } from "./output.ts"
import { withProgress } from "./progress.ts"
import { AlreadyReported } from "./report.ts"

const MAPPING = `Every item becomes a commitment:

  title                    title
  description, design,     body; design and acceptance criteria as sections
  acceptance_criteria
  labels                   tags; a comma becomes a semicolon
  priority 0 to 4          critical, high, medium, low, low
  assignee                 owner of a claim, unless the status is open or deferred
  notes                    an annotation of kind note
  closed, close_reason     a close with result pass, the reason as summary and evidence (log)
  everything else          meta.beads: id, status, times, parent, dependencies, labels…

The whole file is checked first; one line that is not right and nothing is imported. Running it again imports nothing twice, completes what was interrupted, and adds the claims, notes and closes of a newer export. Webhooks are told of the claims and closes as of any others.`

const beadsCommand = Command.make(
  "beads",
  {
    file: Argument.String("file").pipe(
      Argument.withDescription("A beads export: one JSON object a line")
    ),
    workspace: workspaceFlag,
    actor: actorFlag("import:beads"),
    dryRun: Flag.Boolean("dry-run").pipe(
      Flag.withDescription("Check the file and tell what would be done, and do nothing"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* ({ actor, dryRun, file, workspace }) {
    const { items } = yield* readFile(file)
    const { id: workspaceId, name } = yield* resolveWorkspace(workspace)
    const caller = yield* commandCaller(workspaceId, actor)
    const work = yield* planWork(workspaceId, items)
    const pending = work.filter((one) => !isDone(one))
    const { failures, tally } = dryRun
      ? { tally: tallyOf(work), failures: [] }
      : yield* withProgress({ label: "items", total: pending.length }, ({ step }) =>
          performWork(pending, caller, step)
        )
    yield* summarise({
      fields: { workspace_id: workspaceId, file, dry_run: dryRun, items: items.length },
      title: `${dryRun ? "Would import" : "Imported"} ${file} into the workspace ${name}.`,
      known: work.length - pending.length,
      tally,
      failures
    })
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Import an export of the issue tracker beads"),
  Command.withDescription(`Import an export of the issue tracker beads.\n\n${MAPPING}`),
  Command.withExamples([
    { command: "ledger import beads issues.jsonl --dry-run", description: "What would be done" },
    {
      command: "ledger import beads issues.jsonl",
      description: "Do it; may be repeated at any time"
    }
  ])
)

export const importCommand = Command.make("import").pipe(
  Command.withDescription("Import work that was tracked elsewhere"),
  Command.withSubcommands([beadsCommand])
)

const readFile = Effect.fnUntraced(function* (file: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const bytes = yield* fileSystem
    .readFile(file)
    .pipe(Effect.mapError(() => refused(`The file ${file} cannot be read.`)))
  const text = yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    catch: () => refused(`The file ${file} is not UTF-8 text.`)
  })
  const read = readExport(text)
  const problems = problemsOf(read)
  if (problems.length > 0) return yield* refused(problemMessage(file, problems))
  return read
})

const refused = (message: string) => new CommandError({ code: "INVALID_REQUEST", message })

const problemsOf = ({ items, problems }: BeadsExport) =>
  [
    ...problems,
    ...items.flatMap((item) => {
      const message = planProblem(item)
      return message === undefined ? [] : [{ line: item.line, message }]
    })
  ].toSorted((one, other) => one.line - other.line)

const SHOWN_PROBLEMS = 20

const problemMessage = (file: string, problems: ReturnType<typeof problemsOf>): string => {
  const more = problems.length - SHOWN_PROBLEMS
  return [
    `Nothing was imported: ${problems.length} of the lines of ${file} cannot be.`,
    ...problems.slice(0, SHOWN_PROBLEMS).map(({ line, message }) => `  line ${line}: ${message}`),
    ...(more > 0 ? [`  and ${more} more`] : [])
  ].join("\n")
}

interface Summary {
  readonly fields: {
    readonly workspace_id: string
    readonly file: string
    readonly dry_run: boolean
    readonly items: number
  }
  readonly title: string
  readonly known: number
  readonly tally: Tally
  readonly failures: ReadonlyArray<ItemFailure>
}

const summarise = Effect.fnUntraced(function* ({ failures, fields, known, tally, title }: Summary) {
  const counts = {
    already_imported: known,
    commitments: tally.commit,
    claims: tally.claim,
    annotations: tally.annotate,
    closes: tally.close
  }
  const lines = [
    title,
    ...properties([
      ["items in the file", fields.items],
      ["already there", known],
      ["commitments", tally.commit],
      ["claims", tally.claim],
      ["annotations", tally.annotate],
      ["closes", tally.close]
    ])
  ]
  if (failures.length === 0) return yield* answer({ ...fields, ...counts, failures }, lines)
  const message = `${failures.length} items could not be completed. Run the import again when the reason is gone.`
  if (yield* JsonFlag) {
    const error = { code: "INCOMPLETE", message }
    yield* Console.log(JSON.stringify({ ok: false, error, ...fields, ...counts, failures }))
  } else {
    const reasons = failures.map(({ id, line, message }) => `  line ${line}, ${id}: ${message}`)
    yield* Console.log(lines.join("\n"))
    yield* Console.error([`error: ${message}`, ...reasons].join("\n"))
  }
  return yield* new AlreadyReported()
})
