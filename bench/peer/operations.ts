// The peer's writes: each operation is one transaction.
import type { FastifyError } from "fastify"
import type { Pool, PoolClient } from "pg"
import { v7 } from "uuid"
import { CAPTURE, CLAIM, CLOSE, COMMIT, LOCK_COMMITMENT } from "./statements.ts"

export interface Caller {
  readonly workspaceId: string
  readonly actor: string
}

export interface Operation {
  readonly op: "capture" | "commit" | "claim" | "close"
  readonly id: string
  readonly title: string
  readonly body: string
  readonly kind?: string
  readonly tags?: ReadonlyArray<string>
  readonly priority?: string
  readonly owner: string
  readonly result: "pass" | "fail"
  readonly meta?: object
}

/** An answer other than 200, in the spec's codes. */
export class Refusal extends Error implements Pick<FastifyError, "statusCode"> {
  readonly statusCode: number
  readonly code: string

  constructor(statusCode: number, code: string, message: string) {
    super(message)
    this.statusCode = statusCode
    this.code = code
  }
}

const newId = (prefix: string) => `${prefix}_${v7().replaceAll("-", "")}`

/** Performs the operation and answers its receipt once it is durable. */
export const perform = async (pool: Pool, caller: Caller, operation: Operation) => {
  const opId = newId("op")
  const recordId = await recordOf(pool, caller, operation, opId)
  return { success: true, op_id: opId, record_id: recordId }
}

const recordOf = async (pool: Pool, caller: Caller, operation: Operation, opId: string) => {
  const entry = (recordId: string) => [
    caller.workspaceId,
    new Date(),
    opId,
    operation.op,
    caller.actor,
    recordId,
    JSON.stringify(operation)
  ]
  const { body = null, kind = null, meta = {}, priority = null, tags = [] } = operation
  switch (operation.op) {
    case "capture": {
      const id = newId("mem")
      await pool.query({ ...CAPTURE, values: [...entry(id), body, kind, tags, meta] })
      return id
    }
    case "commit": {
      const id = newId("cmt")
      const { title } = operation
      await pool.query({ ...COMMIT, values: [...entry(id), title, body, tags, priority, meta] })
      return id
    }
    case "claim":
      return inTransaction(pool, async (client) => {
        const state = await lockCommitment(client, caller, operation.id)
        if (state !== "open") throw refused("claim", state, "open")
        await client.query({ ...CLAIM, values: [...entry(operation.id), operation.owner] })
        return operation.id
      })
    case "close":
      return inTransaction(pool, async (client) => {
        const state = await lockCommitment(client, caller, operation.id)
        if (state !== "open" && state !== "claimed")
          throw refused("close", state, "open or claimed")
        await client.query({ ...CLOSE[state], values: [...entry(operation.id), operation.result] })
        return operation.id
      })
  }
}

const refused = (op: string, state: string, required: string) =>
  new Refusal(422, "VALIDATION_ERROR", `${op}: the state is "${state}", required ${required}.`)

const lockCommitment = async (client: PoolClient, caller: Caller, id: string): Promise<string> => {
  const { rows } = await client.query<{ state: string }>({
    ...LOCK_COMMITMENT,
    values: [caller.workspaceId, id]
  })
  const row = rows[0]
  if (row === undefined) throw new Refusal(404, "NOT_FOUND", `Commitment "${id}" does not exist.`)
  return row.state
}

const inTransaction = async <A>(pool: Pool, use: (client: PoolClient) => Promise<A>) => {
  const client = await pool.connect()
  try {
    await client.query("begin")
    const answer = await use(client)
    await client.query("commit")
    client.release()
    return answer
  } catch (error) {
    const broken = await client.query("rollback").then(
      () => false,
      () => true
    )
    client.release(broken)
    throw error
  }
}
