// What both peers do with a delivery: the POST that our service makes, with the same headers from the
// same code, and a logged attempt. Attempts that end together are logged by one statement.
import pg from "pg"
import { Agent, request } from "undici"
import { signCallback } from "../../src/workers/signature.ts"
import type { DeliveryJob } from "./messages.ts"

export const CREATE_ATTEMPTS = `
  create table delivery_attempts (
    delivery_id text not null,
    attempt integer not null,
    started_at timestamptz not null,
    duration_ms integer not null,
    http_status integer,
    failure text,
    response text not null,
    primary key (delivery_id, attempt)
  )`

const INSERT_ATTEMPTS = {
  name: "insert_attempts",
  text: `insert into delivery_attempts
    (delivery_id, attempt, started_at, duration_ms, http_status, failure, response)
    select id, attempt, started_at, duration_ms, http_status, null, response
    from unnest($1::text[], $2::int[], $3::timestamptz[], $4::int[], $5::int[], $6::text[])
      as ended (id, attempt, started_at, duration_ms, http_status, response)`
}

interface Attempt {
  readonly id: string
  readonly startedAt: Date
  readonly durationMillis: number
  readonly status: number
  readonly response: string
}

const agent = new Agent({ pipelining: 1 })

/** Sends one delivery; rejects unless the receiver answers 2xx. */
export const post = async ({ id, payload, secret, url }: DeliveryJob): Promise<Attempt> => {
  const startedAt = new Date()
  const start = performance.now()
  const { body, statusCode } = await request(url, {
    dispatcher: agent,
    method: "POST",
    body: payload,
    headers: {
      "Content-Type": "application/json",
      "User-Agent": "bench-peer/1.0",
      "Ledger-Attempt": "1",
      ...signCallback({
        body: payload,
        secrets: [secret],
        webhookId: id,
        timestampSeconds: Math.floor(startedAt.getTime() / 1000)
      })
    }
  })
  const response = await body.text()
  if (statusCode >= 300) throw new Error(`The receiver answered ${statusCode}.`)
  const durationMillis = Math.round(performance.now() - start)
  return { id, startedAt, durationMillis, status: statusCode, response }
}

export const insertAttempts = (pool: pg.Pool, attempts: ReadonlyArray<Attempt>) =>
  pool.query({
    ...INSERT_ATTEMPTS,
    values: [
      attempts.map((attempt) => attempt.id),
      attempts.map(() => 1),
      attempts.map((attempt) => attempt.startedAt),
      attempts.map((attempt) => attempt.durationMillis),
      attempts.map((attempt) => attempt.status),
      attempts.map((attempt) => attempt.response)
    ]
  })

/** Logs attempts one call at a time: what ends during one INSERT is logged by the next. */
export const attemptLog = (pool: pg.Pool) => {
  let waiting: Array<Attempt> = []
  let written = Promise.withResolvers<void>()
  let isWriting = false
  const drain = async () => {
    isWriting = true
    while (waiting.length > 0) {
      const [batch, done] = [waiting, written]
      waiting = []
      written = Promise.withResolvers()
      await insertAttempts(pool, batch).then(() => done.resolve(), done.reject)
    }
    isWriting = false
  }
  return (attempt: Attempt): Promise<void> => {
    waiting.push(attempt)
    const { promise } = written
    if (!isWriting) void drain()
    return promise
  }
}
