// `ledger export`: a workspace's ledger with its hashes, so that somebody who does not trust this
// program can verify it with another one.
import { Effect, Stdio, Stream } from "effect"
import { Command } from "effect/cli"
import { readLedger } from "../domain/readLedger.ts"
import type { EntryRow } from "../domain/store/entries.ts"
import { toIso } from "../domain/time.ts"
import { JsonFlag, layerCommand, resolveWorkspace, workspaceFlag } from "./environment.ts"
import { AlreadyReported } from "./report.ts"

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

const lineOf = (workspaceId: string, row: EntryRow): string => {
  const time = row.time.getTime()
  return JSON.stringify({
    workspace_id: workspaceId,
    format: row.format,
    seq: Number(row.seq),
    op_id: row.op_id,
    op: row.op,
    actor: row.actor,
    record_id: row.record_id,
    time: toIso(time),
    time_milliseconds: time,
    payload: row.payload,
    prev_hash: hex(row.prev_hash),
    hash: hex(row.hash)
  })
}

export const exportCommand = Command.make(
  "export",
  { workspace: workspaceFlag },
  Effect.fn(function* ({ workspace }) {
    const { id } = yield* resolveWorkspace(workspace)
    const stdio = yield* Stdio.Stdio
    const entries = Stream.map(readLedger(id), (row) => lineOf(id, row))
    const text = (yield* JsonFlag)
      ? Stream.make(`{"ok":true,"workspace_id":"${id}","entries":[`).pipe(
          Stream.concat(Stream.intersperse(entries, ",\n")),
          Stream.concat(Stream.make("]}\n"))
        )
      : Stream.map(entries, (line) => `${line}\n`)
    yield* Stream.run(text, stdio.stdout({ endOnDone: false })).pipe(
      // Whoever read the output has seen enough, as `head` does.
      Effect.catchTag("PlatformError", () => new AlreadyReported())
    )
  }, Effect.provide(layerCommand))
).pipe(
  Command.withShortDescription("Print a workspace's ledger, for somebody else to verify"),
  Command.withDescription(
    "Print a workspace's ledger, one entry a line, oldest first, as JSON (with --json: all of it as one value). Anybody can verify it without this program: hash is the SHA-256 of the JSON array [format, workspace_id, seq, prev_hash, op_id, op, actor, record_id, time_milliseconds, payload] written without spaces; prev_hash is the hash of the entry before, and 64 zeros for the first. payload is the operation in canonical JSON (RFC 8785)."
  ),
  Command.withExamples([
    { command: "ledger export > ledger.jsonl", description: "The whole ledger into a file" },
    {
      command: "ledger export --workspace payments | tail -n 1",
      description: "The last entry of one workspace, whose hash covers all before it"
    }
  ])
)
