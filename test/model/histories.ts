// Runs a random history against the running service and holds every answer, the ledger and every view
// against the model. Used with few histories by npm test, and with many by npm run prove.
import fc from "fast-check"
import type pg from "pg"
import { assert } from "vitest"
import { withClient } from "../support/postgres.ts"
import { makeCaller, type Reply, type TestService } from "../support/service.ts"
import { CLIENTS, type Command, history, resolve, type Step } from "./commands.ts"
import { type Client, emptyModel, judge, type Model, perform } from "./model.ts"
import type { Sent } from "./requests.ts"
import {
  commitmentsView,
  commitmentView,
  type ListQuery,
  memoriesView,
  memoryView,
  statusView
} from "./views.ts"

/** One of the clients: its token, and its way to one of the replicas. */
interface Sender extends Client {
  readonly post: (sent: Sent, key: string | undefined) => Promise<Reply>
}

/** A workspace of its own for each history. */
interface Run {
  readonly workspaceId: string
  readonly senders: ReadonlyArray<Sender>
  readonly get: (path: string) => Promise<Reply>
  readonly client: pg.Client
  readonly model: Model
}

interface LedgerRow {
  readonly seq: number
  readonly op_id: string
  readonly op: string
  readonly actor: string
  readonly record_id: string
  readonly time: Date
  readonly payload: string
  readonly prev_hash: string
  readonly hash: string
}

/**
 * Checks `runs` histories. When one does not fit, the smallest that was found is in the message, with
 * the seed and the path that `HISTORY_SEED` and `HISTORY_PATH` take to run it again.
 */
export const checkHistories = async (
  replicas: ReadonlyArray<TestService>,
  runs: number
): Promise<void> => {
  const database = replicas[0]?.database.url ?? ""
  const { HISTORY_PATH: path, HISTORY_SEED: seed } = process.env
  await withClient(database, async (client) => {
    const property = fc.asyncProperty(history, async (steps) => {
      const run = await openWorkspace(replicas, client)
      for (const step of steps) await runStep(run, step)
      await compareViews(run)
      await compareReplay(run)
    })
    const details = await fc.check(property, {
      numRuns: runs,
      ...(seed === undefined ? {} : { seed: Number(seed) }),
      ...(path === undefined ? {} : { path })
    })
    if (!details.failed) return
    const again = `HISTORY_SEED=${details.seed} HISTORY_PATH=${details.counterexamplePath} npm test -- test/model`
    const report = await fc.asyncDefaultReportMessage(details)
    throw new Error(`${report}\n\nTo run it again: ${again}`, { cause: details.errorInstance })
  })
}

// --- A workspace and its clients ---

const LABELS = ["agent:claude", null] as const

const openWorkspace = async (
  replicas: ReadonlyArray<TestService>,
  client: pg.Client
): Promise<Run> => {
  const first = makeCaller(replicas[0]?.baseUrl ?? "")
  const setting = async (procedure: string, input: object, headers: Record<string, string>) => {
    const reply = await first.request(`/trpc/settings.${procedure}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(input)
    })
    assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
    return reply.body.result.data
  }
  const { token, workspace } = await setting("workspaces.create", { name: "history" }, {})
  const headersOf = (text: string) => ({ "X-Proxy-Token": text, "X-Workspace-Id": workspace.id })
  const issued = [token]
  for (const label of LABELS) {
    issued.push(await setting("tokens.issue", { label }, headersOf(token.token)))
  }
  assert.strictEqual(issued.length, CLIENTS)
  const senders = issued.map((own, index): Sender => {
    const replica = makeCaller(replicas[index % replicas.length]?.baseUrl ?? "")
    return {
      token: own.id,
      // D21: the label of the token, else its prefix.
      actor: own.label ?? `token:${own.prefix}`,
      post: (sent, key) =>
        replica.perform(sent, {
          ...headersOf(own.token),
          ...(key === undefined ? {} : { "Idempotency-Key": key })
        })
    }
  })
  return {
    workspaceId: workspace.id,
    senders,
    get: (path) => first.get(path, headersOf(token.token)),
    client,
    model: emptyModel()
  }
}

// --- One step ---

/** A command as it was sent, and what came back. `explained` once the model agrees with the answer. */
interface Exchange {
  readonly sender: Sender
  readonly sent: Sent
  readonly key: string | undefined
  readonly reply: Reply
  explained: boolean
}

const runStep = async (run: Run, step: Step): Promise<void> => {
  const exchanges = await Promise.all(step.map((command) => exchange(run, command)))
  // What was answered must have been right at one moment between the sending and the answer.
  explainRefusals(run.model, exchanges)
  for (const row of await newEntries(run)) {
    recordEntry(run.model, row, exchanges)
    explainRefusals(run.model, exchanges)
  }
  for (const { explained, key, reply, sent } of exchanges) {
    if (explained) continue
    assert.fail(
      `${JSON.stringify(sent)}, key ${key}: no order allows ${JSON.stringify(reply.body)}`
    )
  }
  const status = await run.get("/status")
  assert.deepStrictEqual(status.body, { success: true, data: statusView(run.model) })
}

const exchange = async (run: Run, { client, key, operation }: Command): Promise<Exchange> => {
  const sender = run.senders[client]
  if (sender === undefined) throw new Error(`there is no client ${client}`)
  const sent = resolve(run.model, operation)
  return { sender, sent, key, reply: await sender.post(sent, key), explained: false }
}

const STATUS = { INVALID_REQUEST: 400, NOT_FOUND: 404, VALIDATION_ERROR: 422 }

/** Refusals and repeated answers write nothing, so they are looked for between the entries. */
const explainRefusals = (model: Model, exchanges: ReadonlyArray<Exchange>): void => {
  for (const one of exchanges) {
    if (one.explained) continue
    const { body, status } = one.reply
    const verdict = judge(model, one.sender, one.sent, one.key)
    if (!verdict.accepted) {
      one.explained = status === STATUS[verdict.code] && body.error.code === verdict.code
    } else if (verdict.repeats !== undefined) {
      const { op_id, record_id } = verdict.repeats
      one.explained = status === 200 && body.op_id === op_id && body.record_id === record_id
    }
  }
}

/** «Every accepted answer is an entry», and every entry was an acceptable operation when its turn came. */
const recordEntry = (model: Model, row: LedgerRow, exchanges: ReadonlyArray<Exchange>): void => {
  const { actor, op_id, record_id } = row
  const timestamp = row.time.toISOString()
  const owner = exchanges.find(
    ({ explained, reply }) => !explained && reply.status === 200 && reply.body.op_id === op_id
  )
  if (owner === undefined) {
    throw new Error(`nobody was told of the entry ${JSON.stringify(row)}`)
  }
  const verdict = judge(model, owner.sender, owner.sent, owner.key)
  assert.deepStrictEqual(verdict, { accepted: true }, JSON.stringify(owner.sent))
  assert.deepStrictEqual(
    { op: row.op, actor, seq: row.seq, answer: owner.reply.body },
    {
      op: owner.sent.op,
      actor: owner.sender.actor,
      seq: model.operations + 1,
      answer: { success: true, op_id, record_id }
    }
  )
  assert.isTrue(model.lastTime === null || timestamp >= model.lastTime, "time moves forward")
  const webhook = model.webhooks.get(owner.sent.url)
  if (webhook !== undefined) assert.strictEqual(record_id, webhook)
  perform(model, owner.sender, owner.sent, owner.key, { actor, op_id, record_id, timestamp })
  owner.explained = true
}

const LEDGER = `
  select seq::int, op_id, op, actor, record_id, time, payload,
    encode(prev_hash, 'hex') as prev_hash, encode(hash, 'hex') as hash
  from ledger_entries where workspace_id = $1 and seq > $2 order by seq`

const newEntries = async (run: Run, after = run.model.operations) =>
  (await run.client.query<LedgerRow>(LEDGER, [run.workspaceId, after])).rows

// --- The views ---

const compareViews = async ({ get, model }: Run): Promise<void> => {
  const { commitments, memories } = model
  const expected: ReadonlyArray<readonly [string, object]> = [
    ...Array.from(commitments.values(), (commitment) => {
      const data = commitmentView(model, commitment)
      return [`/commitments/${commitment.id}`, { success: true, data }] as const
    }),
    ...Array.from(memories.values(), (memory) => {
      const data = memoryView(model, memory)
      return [`/memories/${memory.id}`, { success: true, data }] as const
    }),
    ...commitmentQueries(model).map(
      (query) => [`/commitments${written(query)}`, commitmentsView(model, query)] as const
    ),
    ...memoryQueries(model).map(
      (query) => [`/memories${written(query)}`, memoriesView(model, query)] as const
    )
  ]
  const replies = await Promise.all(expected.map(([path]) => get(path)))
  for (const [index, [path, view]] of expected.entries()) {
    assert.deepStrictEqual(replies[index]?.body, view, path)
  }
}

const written = (query: ListQuery): string => {
  const given = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return given.length === 0 ? "" : `?${given.join("&")}`
}

/** The time in the middle: about half of the records are after it, and one is exactly at it. */
const middle = (times: ReadonlyArray<string>) => times.toSorted()[Math.floor(times.length / 2)]

const commitmentQueries = ({ commitments }: Model): ReadonlyArray<ListQuery> => {
  const since = middle(Array.from(commitments.values(), ({ updated_at }) => updated_at))
  return [
    {},
    ...["open", "claimed", "in_review", "closed", "reopened"].map((state) => ({ state })),
    { owner: "agent:one" },
    { owner: "human:jane", state: "claimed" },
    { tags: "urgent" },
    { tags: "backend,ünïcode", limit: 2 },
    { reopened: true },
    { reopened: true, state: "open", limit: 1 },
    { limit: 2, offset: 1 },
    { limit: 101 },
    ...(since === undefined ? [] : [{ since }, { since, state: "open" }])
  ]
}

const memoryQueries = ({ memories }: Model): ReadonlyArray<ListQuery> => {
  const since = middle(Array.from(memories.values(), ({ created_at }) => created_at))
  const statuses = ["untriaged", "triaged", "linked", "committed", "dismissed", "all"]
  return [
    {},
    ...statuses.map((status) => ({ status })),
    { kind: "note" },
    { kind: "metric", status: "all" },
    { limit: 1, offset: 1, status: "all" },
    ...(since === undefined ? [] : [{ since }])
  ]
}

// --- The ledger alone ---

/** «Replaying them gives the projection again»: from the payloads, without what clients remember. */
const compareReplay = async (run: Run): Promise<void> => {
  const rows = await newEntries(run, 0)
  const replayed = emptyModel()
  let hash = "0".repeat(64)
  for (const row of rows) {
    const { actor, op_id, payload, record_id, time } = row
    assert.strictEqual(row.prev_hash, hash)
    hash = row.hash
    perform(replayed, { token: actor, actor }, JSON.parse(payload), undefined, {
      actor,
      op_id,
      record_id,
      timestamp: time.toISOString()
    })
  }
  const { kept: _kept, ...projection } = run.model
  const { kept: _none, ...again } = replayed
  assert.deepStrictEqual(again, projection)
}
