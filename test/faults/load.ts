// A load whose every operation can be told apart, so that after a fault each answer can be held
// against the ledger: performed means once in it, refused means not in it.
import { assert } from "vitest"
import type { makeCaller } from "../support/service.ts"
import { type Entry, marksOf } from "./database.ts"

type Caller = Pick<ReturnType<typeof makeCaller>, "perform">

export interface Load {
  /** By mark, the `op_id` that was answered. */
  readonly performed: ReadonlyMap<string, string>
  /** Marks of what was answered with 500, «not performed». */
  readonly refused: ReadonlySet<string>
  /** Resolves when this many operations have been answered with 200 since the start. */
  readonly untilPerformed: (count: number) => Promise<void>
  /** Sends nothing new, and resolves when the last answer is there. */
  readonly stop: () => Promise<void>
}

let loads = 0

/** Starts `workers` loops, each of which captures memories one after another. */
export const startLoad = (caller: Caller, workers: number): Load => {
  const performed = new Map<string, string>()
  const refused = new Set<string>()
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()
  const load = ++loads
  let stopped = false

  const work = async (worker: number) => {
    for (let round = 0; !stopped; round++) {
      const mark = `load ${load}, worker ${worker}, round ${round}`
      const reply = await caller.perform({ op: "capture", body: mark }).catch(() => undefined)
      // Without an answer nobody knows, and nothing is claimed.
      if (reply === undefined) await new Promise((resolve) => setImmediate(resolve))
      else if (reply.status === 200) performed.set(mark, reply.body.op_id)
      else {
        assert.strictEqual(reply.status, 500, JSON.stringify(reply.body))
        assert.strictEqual(reply.body.error.code, "SERVER_ERROR")
        assert.isNotNull(reply.headers.get("Retry-After"))
        refused.add(mark)
      }
      for (const waiter of waiting) if (performed.size >= waiter.count) waiter.resolve()
    }
  }
  const finished = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  finished.catch(() => {})
  return {
    performed,
    refused,
    untilPerformed: (count) =>
      Promise.race([
        new Promise<void>((resolve) => waiting.add({ count, resolve })),
        finished.then(() => {})
      ]),
    stop: async () => {
      stopped = true
      await finished
    }
  }
}

/** Every answer that was given is true of this ledger. */
export const assertTruthful = (load: Load, entries: ReadonlyArray<Entry>): void => {
  const marks = marksOf(entries)
  assert.strictEqual(new Set(marks).size, marks.length, "an operation was performed twice")
  const recorded = new Map(entries.map((entry, index) => [marks[index], entry.op_id]))
  for (const [mark, opId] of load.performed) assert.strictEqual(recorded.get(mark), opId, mark)
  for (const mark of load.refused) assert.isFalse(recorded.has(mark), mark)
  assertGapless(entries)
}

/** «A gapless sequence»: of one workspace. */
export const assertGapless = (entries: ReadonlyArray<Entry>): void => {
  assert.deepStrictEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, index) => index + 1)
  )
}
