// Who delivers: our service and the two queues, each a process with a database of its own. A backlog
// is committed at once, while the sender's process is up and has nothing to do.
import * as path from "node:path"
import { Effect, type Scope } from "effect"
import { makeWorkerUtils } from "graphile-worker"
import { PgBoss } from "pg-boss"
import { type Postgres, query } from "../postgres.ts"
import { BenchError, startWorker } from "../processes.ts"
import { fetchText, headersOf, type LedgerSubject } from "../subjects.ts"
import {
  type BareMessage,
  type DeliveryJob,
  JOB_NAME,
  type PeerName,
  type PeerStart
} from "./messages.ts"
import { CREATE_ATTEMPTS } from "./peerDelivery.ts"
import { tell } from "./receiverProcess.ts"

/** What every delivery is: these bytes, signed with this, to one of these. */
export interface Callbacks {
  readonly payload: string
  readonly secret: string
  readonly urls: ReadonlyArray<string>
}

export interface Sender {
  readonly name: string
  readonly pid: number
  /** Commits so many deliveries. */
  readonly enqueue: (count: number) => Effect.Effect<void, BenchError>
  /** Undefined for the one that has no queue. */
  readonly databaseUrl: string | undefined
  /** Logged attempts so far, and deliveries that are still to be made or completed. */
  readonly progress: Effect.Effect<Progress, BenchError>
}

export interface Progress {
  readonly attempts: number
  readonly left: number
}

const MAIN = path.join(import.meta.dirname, "peer.ts")
const BARE = path.join(import.meta.dirname, "bare.ts")

const failure = (what: string) => (error: unknown) =>
  new BenchError({ message: `${what}: ${String(error)}` })

/** Numbers that no two runs share. */
const numbering = () => {
  let last = 0
  return (count: number) => {
    const first = last + 1
    last += count
    return { first, last }
  }
}

/** Registered through the ledger, in the workspace of that index. Answers its id. */
export const registerWebhook = (
  ledger: LedgerSubject,
  workspace: number,
  url: string,
  secret: string
) =>
  fetchText(`${ledger.baseUrl}/ops`, {
    method: "POST",
    headers: headersOf(ledger.accesses[workspace] ?? ledger.accesses[0]),
    body: JSON.stringify({ op: "webhook.register", url, secret })
  }).pipe(Effect.map((text): string => JSON.parse(text).record_id))

/** Our service. Its outbox is filled as moves would fill it, by SQL, in its second workspace. */
export const ledgerSender = Effect.fnUntraced(function* (
  ledger: LedgerSubject,
  { payload, secret, urls }: Callbacks
) {
  for (const url of urls) yield* registerWebhook(ledger, 1, url, secret)
  const next = numbering()
  const workspaceId = ledger.accesses[1]?.workspaceId
  return {
    name: "ours",
    pid: ledger.pid,
    databaseUrl: ledger.databaseUrl,
    enqueue: (count) =>
      query(ledger.databaseUrl, async (client) => {
        const { first, last } = next(count)
        await client.query("begin")
        await client.query(INSERT_EVENTS, [workspaceId, first, last, payload])
        await client.query(INSERT_DELIVERIES, [workspaceId, first, last])
        await client.query("commit")
      }),
    progress: progressOf(
      ledger.databaseUrl,
      `select (select count(*) from webhook_attempts)::int as attempts,
        (select count(*) from webhook_deliveries where status = 'pending')::int as left`
    )
  } satisfies Sender
})

/** Parameters: workspace, first and last number, payload. */
const INSERT_EVENTS = `
  insert into webhook_events (workspace_id, id, type, seq, commitment_id, payload, created_at)
  select $1::uuid, 'evt_' || lpad(n::text, 26, '0'), 'commitment.state_changed', n,
    'cmt_' || lpad(n::text, 26, '0'), $4, clock_timestamp()
  from generate_series($2::bigint, $3::bigint) n`

/** Parameters: workspace, first and last number. The endpoints take turns. */
const INSERT_DELIVERIES = `
  insert into webhook_deliveries
    (workspace_id, id, endpoint_id, event_id, commitment_id, seq, status, attempts, due_at, created_at)
  select $1::uuid, 'dlv_' || lpad(n::text, 26, '0'), endpoints.ids[1 + n % cardinality(endpoints.ids)],
    'evt_' || lpad(n::text, 26, '0'), 'cmt_' || lpad(n::text, 26, '0'), n, 'pending', 0,
    clock_timestamp(), clock_timestamp()
  from generate_series($2::bigint, $3::bigint) n,
    (select array_agg(id order by id) as ids from webhook_endpoints where workspace_id = $1::uuid)
      as endpoints`

/** One of the queues; what is enqueued comes from the harness, through the queue's own client. */
export const startPeerSender = Effect.fnUntraced(function* (
  postgres: Postgres,
  peer: PeerName,
  callbacks: Callbacks
): Effect.fn.Return<Sender, BenchError, Scope.Scope> {
  const databaseUrl = yield* postgres.createDatabase(peer.replace("-", "_"))
  yield* query(databaseUrl, (client) => client.query(CREATE_ATTEMPTS))
  const { insert, left } = yield* peer === "pg-boss"
    ? pgBossClient(databaseUrl)
    : graphileClient(databaseUrl)
  const child = yield* startWorker(MAIN)
  yield* tell<unknown>(child, { peer, databaseUrl } satisfies PeerStart)
  const next = numbering()
  return {
    name: peer,
    pid: child.pid ?? 0,
    databaseUrl,
    enqueue: (count) =>
      Effect.tryPromise({
        try: () => insert(makeJobs(callbacks, next(count))),
        catch: failure(`Jobs could not be put into ${peer}`)
      }),
    progress: progressOf(
      databaseUrl,
      `select (select count(*) from delivery_attempts)::int as attempts, (${left})::int as left`
    )
  }
})

/** The same POSTs without a queue: what the machine can do at all. */
export const startBareSender = Effect.fnUntraced(function* (
  callbacks: Callbacks
): Effect.fn.Return<Sender, BenchError, Scope.Scope> {
  const child = yield* startWorker(BARE)
  const next = numbering()
  return {
    name: "no queue, no log",
    pid: child.pid ?? 0,
    databaseUrl: undefined,
    enqueue: (count) =>
      Effect.sync(() => {
        child.send({ jobs: makeJobs(callbacks, next(count)) } satisfies BareMessage)
      }),
    progress: tell<Progress>(child, "progress" satisfies BareMessage)
  }
})

const makeJobs = (
  { payload, secret, urls }: Callbacks,
  { first, last }: { readonly first: number; readonly last: number }
): ReadonlyArray<DeliveryJob> =>
  Array.from({ length: last - first + 1 }, (_, index) => ({
    id: `evt_${String(first + index).padStart(26, "0")}`,
    url: urls[index % urls.length] ?? "",
    secret,
    payload
  }))

interface QueueClient {
  readonly insert: (jobs: ReadonlyArray<DeliveryJob>) => Promise<void>
  /** Counts the jobs that are not done. */
  readonly left: string
}

const graphileClient = (connectionString: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const utils = await makeWorkerUtils({ connectionString })
        await utils.migrate()
        return utils
      },
      catch: failure("graphile-worker could not be set up")
    }),
    (utils) => Effect.promise(async () => utils.release())
  ).pipe(
    Effect.map(
      (utils): QueueClient => ({
        insert: async (jobs) => {
          await utils.addJobs(
            jobs.map((job) => ({ identifier: JOB_NAME, payload: job, maxAttempts: 6 }))
          )
        },
        left: "select count(*) from graphile_worker._private_jobs"
      })
    )
  )

const pgBossClient = (connectionString: string) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const boss = new PgBoss({ connectionString, supervise: false, schedule: false })
        boss.on("error", () => {})
        await boss.start()
        await boss.createQueue(JOB_NAME, { retryLimit: 5 })
        return boss
      },
      catch: failure("pg-boss could not be set up")
    }),
    (boss) => Effect.promise(() => boss.stop({ graceful: false }))
  ).pipe(
    Effect.map(
      (boss): QueueClient => ({
        insert: async (jobs) => {
          await boss.insert(
            JOB_NAME,
            jobs.map((job) => ({ data: job }))
          )
        },
        left: "select count(*) from pgboss.job where state < 'completed'"
      })
    )
  )

const progressOf = (databaseUrl: string, statement: string) =>
  query(databaseUrl, async (client) => {
    const { rows } = await client.query<Progress>(statement)
    return rows[0] ?? { attempts: 0, left: 0 }
  })
