// The process of the sender without a queue: makes the POST of the peers, with nothing claimed and
// nothing logged. No queue on this machine can be faster.
import { type BareMessage, type DeliveryJob, monotonicMillis } from "./messages.ts"
import { post } from "./peerDelivery.ts"

/** As many as our service has under way to the endpoints of this bench. */
const CONCURRENCY = 64

const progress = { attempts: 0, left: 0 }

const deliver = async (jobs: ReadonlyArray<DeliveryJob>) => {
  const waiting = jobs.values()
  const work = async () => {
    for (const job of waiting) {
      await post(job)
      progress.attempts += 1
      progress.left -= 1
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
}

process.on("message", (message: BareMessage) => {
  if (message === "progress") return process.send?.(progress)
  progress.left += message.jobs.length
  return deliver(message.jobs)
})
process.once("disconnect", () => process.exit(0))
// Ctrl-C reaches the whole process group; the harness decides when this process ends.
process.on("SIGINT", () => {})
process.send?.({ readyAtMillis: monotonicMillis() })
