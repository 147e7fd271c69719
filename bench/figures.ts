// Figures of runs, and what they amount to: medians, ratios, and whether a target is met.

/** One run of one subject. */
export interface Run {
  readonly perSecond: number
  readonly p50Millis: number
  readonly p99Millis: number
  /** CPU time of the subject's own process for one request. */
  readonly cpuMicros: number | undefined
}

export interface Comparison {
  readonly measure: string
  readonly ours: Run
  readonly peer: Run
  readonly verdicts: ReadonlyArray<Verdict>
  readonly note?: string
}

/** A ratio of ours to the peer's, and the target that the design sets for it. */
export interface Verdict {
  readonly what: "rate" | "p50" | "p99"
  readonly ratio: number
  readonly target: { readonly atLeast: number } | { readonly atMost: number } | undefined
}

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Each figure's own median, so that one disturbed run spoils nothing. */
export const medianRun = (runs: ReadonlyArray<Run>): Run => {
  const cpu = runs.map((run) => run.cpuMicros).filter((micros) => micros !== undefined)
  return {
    perSecond: median(runs.map((run) => run.perSecond)),
    p50Millis: median(runs.map((run) => run.p50Millis)),
    p99Millis: median(runs.map((run) => run.p99Millis)),
    cpuMicros: cpu.length === 0 ? undefined : median(cpu)
  }
}

export const verdict = (
  what: Verdict["what"],
  ours: Run,
  peer: Run,
  target: Verdict["target"]
): Verdict => {
  const field = ({ rate: "perSecond", p50: "p50Millis", p99: "p99Millis" } as const)[what]
  return { what, ratio: ours[field] / peer[field], target }
}

export const isMet = ({ ratio, target }: Verdict): boolean | undefined => {
  if (target === undefined) return undefined
  return "atLeast" in target ? ratio >= target.atLeast : ratio <= target.atMost
}
