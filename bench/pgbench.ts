// pgbench running the peer's statements without any service in between: what one transaction per
// operation can reach on this PostgreSQL. Left out when there is no pgbench on the PATH.
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { median } from "./figures.ts"
import { CAPTURE, CLAIM, CLOSE, COMMIT, LOCK_COMMITMENT } from "./peer/statements.ts"
import type { Plan } from "./plan.ts"
import { BenchError } from "./processes.ts"
import type { Subject } from "./subjects.ts"

const OPERATIONS_PER_SCRIPT = 4

/** Operations in a second, or undefined without pgbench or without a round to run. */
export const measurePgbench = Effect.fnUntraced(function* (plan: Plan, peer: Subject) {
  if (plan.pgbench.rounds === 0) return undefined
  if (spawnSync("pgbench", ["--version"]).status !== 0) {
    yield* Effect.logInfo("pgbench is not on the PATH: left out")
    return undefined
  }
  yield* Effect.logInfo("measuring the same statements with pgbench …")
  const rates: Array<number> = []
  for (let round = 0; round < plan.pgbench.rounds; round++) {
    rates.push(yield* runPgbench(plan, peer))
  }
  return median(rates)
})

const runPgbench = (plan: Plan, peer: Subject) =>
  Effect.acquireUseRelease(
    Effect.sync(() => writeScript(peer)),
    (file) =>
      Effect.callback<number, BenchError>((resume, signal) => {
        const parameters = [
          ["--no-vacuum", "--protocol=prepared", `--file=${file}`],
          [`--client=${plan.connections}`, `--time=${plan.pgbench.seconds}`, peer.databaseUrl]
        ].flat()
        execFile("pgbench", parameters, { signal }, (error, output, problems) => {
          const rate = /^tps = ([\d.]+)/m.exec(output)?.[1]
          if (error === null && rate !== undefined) {
            return resume(Effect.succeed(Number(rate) * OPERATIONS_PER_SCRIPT))
          }
          resume(
            Effect.fail(
              new BenchError({ message: `pgbench failed: ${problems.split("\n", 1)[0]}` })
            )
          )
        })
      }),
    (file) => Effect.sync(() => fs.rmSync(path.dirname(file), { recursive: true, force: true }))
  )

const writeScript = (peer: Subject) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-pgbench-"))
  const file = path.join(folder, "operations.sql")
  fs.writeFileSync(file, script(peer.accesses[0].workspaceId))
  return file
}

/** The four operations in turn, each a transaction, with literals where the peer has parameters. */
const script = (workspaceId: string): string => {
  const id = (prefix: string) => `concat('${prefix}_', :client_id::int, '_', :number::bigint)`
  const entry = (op: string, prefix: string) => [
    `'${workspaceId}'`,
    "clock_timestamp()",
    `concat('op_', :client_id::int, '_', :number::bigint, '_${op}')`,
    `'${op}'`,
    "'admin'",
    id(prefix),
    `'{"op": "${op}"}'`
  ]
  const fill = (text: string, values: ReadonlyArray<string>) =>
    `${text.replace(/\$(\d+)/g, (_, index) => values[Number(index) - 1] ?? "null").replaceAll(/\s+/g, " ")};`
  const locked = (text: string, values: ReadonlyArray<string>) => [
    "begin;",
    fill(LOCK_COMMITMENT.text, [`'${workspaceId}'`, id("cmt")]),
    fill(text, values),
    "commit;"
  ]
  const tags = "array['checkout']"
  return [
    "\\set number random(1, 9000000000000000000)",
    fill(CAPTURE.text, [...entry("capture", "mem"), "'What was seen'", "'note'", tags, "'{}'"]),
    fill(COMMIT.text, [...entry("commit", "cmt"), "'A title'", "'A body'", tags, "'high'", "'{}'"]),
    ...locked(CLAIM.text, [...entry("claim", "cmt"), "'worker'"]),
    ...locked(CLOSE.claimed.text, [...entry("close", "cmt"), "'pass'"])
  ].join("\n")
}
