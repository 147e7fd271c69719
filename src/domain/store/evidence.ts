// Evidence as the ledger has it: with `submit` and `close`, in their payloads (D31).
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { CapturedEvidence } from "../callback.ts"
import { isJsonObject, type JsonObject } from "../jsonValue.ts"
import { texts } from "./columns.ts"

export interface CommitmentEvidence extends CapturedEvidence {
  readonly commitmentId: string
  readonly seq: number
}

/** All evidence of these commitments, in ledger order. */
export const readEvidence = Effect.fnUntraced(function* (
  workspaceId: string,
  commitmentIds: ReadonlyArray<string>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ record_id: string; seq: bigint; time: Date; payload: string }>`
    select record_id, seq, time, payload from ledger_entries
    where workspace_id = ${workspaceId}::uuid and record_id = any(${texts(commitmentIds)})
      and op in ('submit', 'close')
    order by seq`
  return rows.flatMap((row): ReadonlyArray<CommitmentEvidence> => {
    const { evidence } = JSON.parse(row.payload) as JsonObject
    if (!Array.isArray(evidence)) return []
    return evidence.filter(isJsonObject).map((item) => ({
      commitmentId: row.record_id,
      seq: Number(row.seq),
      capturedAt: row.time.getTime(),
      item
    }))
  })
})
