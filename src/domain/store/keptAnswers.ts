// Table idempotency_keys: the answers that are given again to whoever repeats a request (D22).
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { KeptAnswer } from "../batchDraft.ts"
import { texts, time } from "./columns.ts"

type KeyName = Pick<KeptAnswer, "tokenId" | "key">

/** The kept answers of these keys that have not expired at `now`. */
export const loadKeptAnswers = Effect.fnUntraced(function* (
  workspaceId: string,
  keys: ReadonlyArray<KeyName>,
  now: number
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{
    token_id: string
    key: string
    fingerprint: string
    op_id: string
    record_id: string
  }>`
    select token_id, key, fingerprint, op_id, record_id
    from idempotency_keys
    join unnest(
      ${texts(keys.map((key) => key.tokenId))}, ${texts(keys.map((key) => key.key))}
    ) as asked (token_id, key) using (token_id, key)
    where workspace_id = ${workspaceId}::uuid and expires_at > ${time(now)}`
  return rows.map(
    (row): KeptAnswer => ({
      tokenId: row.token_id,
      key: row.key,
      fingerprint: row.fingerprint,
      receipt: { success: true, op_id: row.op_id, record_id: row.record_id }
    })
  )
})

/** A part of the statement that writes a batch. */
export const insertKeptAnswers = (
  sql: SqlClient.SqlClient,
  workspaceId: string,
  answers: ReadonlyArray<KeptAnswer>,
  expiresAt: number
) => sql`
  insert into idempotency_keys
    (workspace_id, token_id, key, fingerprint, op_id, record_id, expires_at)
  select ${workspaceId}::uuid, token_id, key, fingerprint, op_id, record_id, ${time(expiresAt)}
  from unnest(
    ${texts(answers.map((answer) => answer.tokenId))},
    ${texts(answers.map((answer) => answer.key))},
    ${texts(answers.map((answer) => answer.fingerprint))},
    ${texts(answers.map((answer) => answer.receipt.op_id))},
    ${texts(answers.map((answer) => answer.receipt.record_id))}
  ) as answer (token_id, key, fingerprint, op_id, record_id)
  on conflict (workspace_id, token_id, key) do update set
    fingerprint = excluded.fingerprint, op_id = excluded.op_id,
    record_id = excluded.record_id, expires_at = excluded.expires_at`

/** Removes one small batch of expired keys; answers how many, so that the caller knows to go on. */
export const deleteExpiredAnswers = Effect.fnUntraced(function* (now: number, count: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    delete from idempotency_keys
    where (workspace_id, token_id, key) in (
      select workspace_id, token_id, key from idempotency_keys
      where expires_at <= ${time(now)}
      order by expires_at
      limit ${count}
      for update skip locked
    )
    returning 1 as deleted`
  return rows.length
})
