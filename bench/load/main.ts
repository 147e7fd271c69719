// The load generator's process: takes jobs from the harness over the IPC channel, one at a time, and
// answers each with an outcome. Ends when the harness does.
import { converse } from "./connection.ts"
import type { Job, Outcome } from "./job.ts"
import { makeRequests } from "./requests.ts"

/** Answers beyond this many are still counted, but their times are not kept. */
const LATENCIES_KEPT = 2_000_000
const latencies = new Float64Array(LATENCIES_KEPT)

const run = async (job: Job): Promise<Outcome> => {
  const { host, hostname, port } = new URL(job.baseUrl)
  const start = performance.now()
  const deadline = start + job.seconds * 1000
  let requests = 0
  let failures = 0
  let firstFailure: string | undefined

  const talk = async (index: number) => {
    const access = job.accesses[index % job.accesses.length]
    if (access === undefined) throw new Error("A job needs at least one token.")
    const source = makeRequests(job.workload, host, access, index)
    let sentAt = 0
    await converse(hostname, Number(port), (reply) => {
      const now = performance.now()
      if (reply !== undefined) {
        if (requests < LATENCIES_KEPT) latencies[requests] = now - sentAt
        requests += 1
        if (reply.status !== 200) {
          failures += 1
          firstFailure ??= `${reply.status} ${reply.body.slice(0, 300)}`
        }
      }
      if (now >= deadline || failures > 0) return undefined
      sentAt = now
      return source.next(reply)
    })
    return source.commitmentId()
  }

  const ids = await Promise.all(Array.from({ length: job.connections }, (_, index) => talk(index)))
  const seconds = (performance.now() - start) / 1000
  const sorted = latencies.subarray(0, Math.min(requests, LATENCIES_KEPT)).sort()
  const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN
  return {
    requests,
    failures,
    firstFailure,
    seconds,
    p50Millis: quantile(0.5),
    p99Millis: quantile(0.99),
    commitmentIds: ids.filter((id) => id !== undefined)
  }
}

process.on("message", (job: Job) => {
  run(job).then(
    (outcome) => process.send?.({ outcome }),
    (error: unknown) => process.send?.({ error: String(error) })
  )
})
process.once("disconnect", () => process.exit(0))
// Ctrl-C reaches the whole process group; the harness decides when this process ends.
process.on("SIGINT", () => {})
process.send?.("ready")
