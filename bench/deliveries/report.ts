// The figures of `npm run bench deliveries` as one table for people and as JSON for everything else.
import * as os from "node:os"
import { median } from "../figures.ts"
import { formatTable, millis, whole } from "../report.ts"
import type { Latency, Quantiles } from "./latency.ts"
import type { Neighbours } from "./neighbours.ts"

/** One run of one sender. */
export interface DeliveryRun {
  readonly perSecond: number
  /** CPU time of the sender's own process for one delivery, its PostgreSQL left out. */
  readonly cpuMicros: number | undefined
}

export interface SenderFigures extends DeliveryRun {
  readonly name: string
  readonly runs: ReadonlyArray<DeliveryRun>
}

export interface DeliveriesReport {
  readonly backlog: number
  readonly endpoints: number
  readonly ours: SenderFigures
  readonly peers: ReadonlyArray<SenderFigures>
  /** The same POSTs with no queue and no log: the ceiling of this machine. */
  readonly bare: SenderFigures
  /** Ours to the better of the peers. */
  readonly ratio: number
  readonly latency: Latency
  readonly neighbours: Neighbours
}

export const RATIO_TARGET = 2
export const P50_TARGET_MILLIS = 5
export const P99_TARGET_MILLIS = 25
export const NEIGHBOURS_TARGET = 2

export const figuresOf = (name: string, runs: ReadonlyArray<DeliveryRun>): SenderFigures => {
  const cpu = runs.map((run) => run.cpuMicros).filter((micros) => micros !== undefined)
  return {
    name,
    runs,
    perSecond: median(runs.map((run) => run.perSecond)),
    cpuMicros: cpu.length === 0 ? undefined : median(cpu)
  }
}

const met = (isMet: boolean) => (isMet ? "met" : "MISSED")

export const formatDeliveries = (report: DeliveriesReport): string => {
  const { backlog, bare, endpoints, latency, neighbours, ours, peers, ratio } = report
  const better = Math.max(...peers.map((peer) => peer.perSecond))
  const headings = [
    "a backlog, every attempt logged",
    "deliveries /s",
    "lowest – highest",
    "CPU µs"
  ]
  const rows = [ours, ...peers, bare].map((sender) => {
    const rates = sender.runs.map((run) => run.perSecond)
    return [
      sender.name,
      whole(sender.perSecond),
      `${whole(Math.min(...rates))} – ${whole(Math.max(...rates))}`,
      sender.cpuMicros === undefined ? "–" : whole(sender.cpuMicros)
    ]
  })
  return [
    ...formatTable([headings, ...rows]),
    "",
    `ours to the better peer: ${ratio.toFixed(2)} ≥ ${RATIO_TARGET} ${met(ratio >= RATIO_TARGET)}`,
    `the better peer reaches ${percent(better / bare.perSecond)} of what the machine can do without a queue, ours ${percent(ours.perSecond / bare.perSecond)}`,
    describeNeighbours(neighbours),
    `from commit to arrival, from the answer: ${verdictOf(latency.fromAnswer)}`,
    `from commit to arrival, from before the request: ${timesOf(latency.fromRequest)}`,
    `${whole(backlog)} deliveries a run over ${endpoints} endpoints; ${whole(latency.moves)} moves, one after another; every database analyzed after its warm-up`,
    `${os.availableParallelism()} CPUs (${os.cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.version}; durable commits; medians of alternating runs`
  ].join("\n")
}

const percent = (share: number) => `${Math.round(share * 100)} %`

const describeNeighbours = ({ alone, beside, hanging, healthy }: Neighbours) => {
  const ratio = beside.p99Millis / alone.p99Millis
  return `p99 of ${healthy} healthy endpoints beside ${hanging} that hang, to their p99 alone (${millis(alone.p99Millis)} ms): ${ratio.toFixed(2)} ≤ ${NEIGHBOURS_TARGET} ${met(ratio <= NEIGHBOURS_TARGET)}`
}

const timesOf = ({ p50Millis, p99Millis }: Quantiles) =>
  `p50 ${millis(p50Millis)} ms, p99 ${millis(p99Millis)} ms`

const verdictOf = ({ p50Millis, p99Millis }: Quantiles) =>
  `p50 ${millis(p50Millis)} ms ≤ ${P50_TARGET_MILLIS} ${met(p50Millis <= P50_TARGET_MILLIS)}, p99 ${millis(p99Millis)} ms ≤ ${P99_TARGET_MILLIS} ${met(p99Millis <= P99_TARGET_MILLIS)}`

export const jsonDeliveries = (report: DeliveriesReport): string =>
  `${JSON.stringify({ node: process.version, cpus: os.availableParallelism(), ...report }, null, 2)}\n`
