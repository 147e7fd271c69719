// The peer's reads: the same answers as the service's, from the same kind of indexes.
import type { Pool } from "pg"
import { Refusal } from "./operations.ts"
import { LIST_COMMITMENTS, READ_COMMITMENT, READ_HEAD } from "./statements.ts"

interface Head {
  readonly last_seq: string
  readonly last_time: Date
  readonly open: string
  readonly claimed: string
  readonly closed: string
  readonly untriaged: string
}

interface Entry {
  readonly op_id: string
  readonly op: string
  readonly actor: string
  readonly time: string
  readonly payload: {
    readonly owner?: string
    readonly result?: string
    readonly summary?: string
    readonly evidence?: ReadonlyArray<object>
  }
}

const readHead = async (pool: Pool, workspaceId: string) => {
  const { rows } = await pool.query<Head>({ ...READ_HEAD, values: [workspaceId] })
  const head = rows[0]
  if (head === undefined) throw new Refusal(500, "SERVER_ERROR", "The workspace has no head.")
  return head
}

export const readStatus = async (pool: Pool, workspaceId: string) => {
  const head = await readHead(pool, workspaceId)
  const operations = Number(head.last_seq)
  return {
    success: true,
    data: {
      commitments: {
        open: Number(head.open),
        claimed: Number(head.claimed),
        in_review: 0,
        closed: Number(head.closed),
        reopened: 0
      },
      memories: {
        total: Number(head.untriaged),
        untriaged: Number(head.untriaged),
        dismissed: 0,
        committed: 0,
        linked: 0
      },
      ledger: {
        total_operations: operations,
        last_operation_at: operations === 0 ? null : head.last_time
      }
    }
  }
}

export const listCommitments = async (
  pool: Pool,
  workspaceId: string,
  { limit, offset }: { readonly limit: number; readonly offset: number }
) => {
  const [head, page] = await Promise.all([
    readHead(pool, workspaceId),
    pool.query({ ...LIST_COMMITMENTS, values: [workspaceId, limit, offset] })
  ])
  const total = Number(head.open) + Number(head.claimed) + Number(head.closed)
  return { success: true, data: page.rows, pagination: { limit, offset, total } }
}

export const readCommitment = async (pool: Pool, workspaceId: string, id: string) => {
  const { rows } = await pool.query({ ...READ_COMMITMENT, values: [workspaceId, id] })
  const row = rows[0]
  if (row === undefined) throw new Refusal(404, "NOT_FOUND", `Commitment "${id}" does not exist.`)
  const { entries, ...commitment } = row as { readonly entries: ReadonlyArray<Entry> }
  return {
    success: true,
    data: {
      ...commitment,
      evidence: entries.flatMap(({ payload }) => payload.evidence ?? []),
      history: entries.map(historyEntry)
    }
  }
}

const historyEntry = ({ actor, op, op_id, payload, time }: Entry) => ({
  op_id,
  op,
  actor,
  timestamp: new Date(time).toISOString(),
  ...(op === "claim" ? { owner: payload.owner } : {}),
  ...(op === "close" ? { result: payload.result, summary: payload.summary } : {})
})
