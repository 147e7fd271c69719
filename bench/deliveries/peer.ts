// The process of one peer: graphile-worker or pg-boss, each set for throughput, delivering the jobs
// that the harness puts into its queue. Started by senders.ts, which says which one it is.
import { Logger, run } from "graphile-worker"
import pg from "pg"
import { PgBoss } from "pg-boss"
import { type DeliveryJob, JOB_NAME, type PeerStart } from "./messages.ts"
import { attemptLog, insertAttempts, post } from "./peerDelivery.ts"

/** As many as our service has. */
const CONNECTIONS = 10

type Stop = () => Promise<unknown>

/** As its documentation on performance says: a local queue, completion in batches, much concurrency. */
const startGraphileWorker = async (pool: pg.Pool): Promise<Stop> => {
  const log = attemptLog(pool)
  const runner = await run({
    pgPool: pool,
    noHandleSignals: true,
    logger: new Logger(() => () => {}),
    preset: {
      worker: {
        concurrentJobs: 64,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0
      }
    },
    taskList: {
      [JOB_NAME]: async (payload) => log(await post(payload as DeliveryJob))
    }
  })
  return () => runner.stop()
}

const BATCH = 100
const BATCHES_UNDER_WAY = 4
const EMPTY_PAUSE_MILLIS = 20

/**
 * Batches taken with `fetch` and ended with one `complete` each. Its `work` looks every half second at
 * the most, which would be a bound of its own.
 */
const startPgBoss = async (pool: pg.Pool, databaseUrl: string): Promise<Stop> => {
  const boss = new PgBoss({ connectionString: databaseUrl, max: CONNECTIONS, schedule: false })
  boss.on("error", (error) => process.stderr.write(`pg-boss: ${error.message}\n`))
  await boss.start()
  const underWay = new Set<Promise<void>>()
  let isStopping = false
  const deliver = async (jobs: ReadonlyArray<{ id: string; data: DeliveryJob }>) => {
    const attempts = await Promise.all(jobs.map(({ data }) => post(data)))
    await insertAttempts(pool, attempts)
    await boss.complete(
      JOB_NAME,
      jobs.map(({ id }) => id)
    )
  }
  const loop = async () => {
    while (!isStopping) {
      const jobs = await boss.fetch<DeliveryJob>(JOB_NAME, { batchSize: BATCH })
      if (jobs.length === 0) {
        await new Promise((resolve) => setTimeout(resolve, EMPTY_PAUSE_MILLIS))
        continue
      }
      const batch = deliver(jobs).finally(() => underWay.delete(batch))
      underWay.add(batch)
      if (underWay.size >= BATCHES_UNDER_WAY) await Promise.race(underWay)
    }
  }
  const looping = loop()
  return async () => {
    isStopping = true
    await looping
    await Promise.all(underWay)
    await boss.stop({ graceful: false })
  }
}

process.once("message", async ({ databaseUrl, peer }: PeerStart) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS })
  // Connections that PostgreSQL closes at the end of the bench are no failure.
  pool.on("error", () => {})
  pool.on("connect", (client) => client.on("error", () => {}))
  const stop =
    peer === "graphile-worker"
      ? await startGraphileWorker(pool)
      : await startPgBoss(pool, databaseUrl)
  process.once("SIGTERM", () => {
    stop()
      .then(() => pool.end())
      .finally(() => process.exit(0))
  })
  process.send?.("started")
})
process.once("disconnect", () => process.exit(0))
// Ctrl-C reaches the whole process group; the harness decides when this process ends.
process.on("SIGINT", () => {})
process.send?.("ready")
