// The figures of a bench run as one table for people and as JSON for everything else.
import * as os from "node:os"
import { type Comparison, isMet, type Run, type Verdict } from "./figures.ts"
import type { SizeComparison } from "./large.ts"

export interface Report {
  readonly comparisons: ReadonlyArray<Comparison>
  readonly sizes: ReadonlyArray<SizeComparison>
  /** Operations in one transaction of our service during the first measure. */
  readonly meanBatch: number
  /** One transaction per operation, by pgbench, operations in a second. */
  readonly pgbenchPerSecond: number | undefined
  /** Memory of our service's process after the load. */
  readonly residentBytes: number | undefined
}

export const whole = (value: number) => Math.round(value).toLocaleString("en")
export const millis = (value: number) => value.toFixed(value < 10 ? 2 : 1)
const times = ({ p50Millis, p99Millis }: Run) => `${millis(p50Millis)} / ${millis(p99Millis)}`
const cpu = ({ cpuMicros }: Run) => (cpuMicros === undefined ? "–" : whole(cpuMicros))

const HEADINGS = [
  "measure",
  "ours /s",
  "peer /s",
  "ours p50 / p99 ms",
  "peer p50 / p99 ms",
  "ours, peer CPU µs",
  "ratio, target"
]

/** The table and the lines under it. */
export const formatReport = (report: Report): string => {
  const rows = report.comparisons.map(({ measure, ours, peer, verdicts }) => [
    measure,
    whole(ours.perSecond),
    whole(peer.perSecond),
    times(ours),
    times(peer),
    `${cpu(ours)}, ${cpu(peer)}`,
    verdicts.map(describeVerdict).join("; ")
  ])
  return [...formatTable([HEADINGS, ...rows]), "", ...notes(report)].join("\n")
}

/** The first row is the headings; the first and the last column begin at the left. */
export const formatTable = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const headings = rows[0] ?? []
  const widths = headings.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, index) => {
        const width = widths[index] ?? 0
        return index === 0 || index === headings.length - 1
          ? cell.padEnd(width)
          : cell.padStart(width)
      })
      .join("  ")
      .trimEnd()
  )
  const rule = widths.map((width) => "─".repeat(width)).join("  ")
  return [lines[0] ?? "", rule, ...lines.slice(1)]
}

const describeTarget = (target: Verdict["target"]) => {
  if (target === undefined) return ""
  return "atLeast" in target ? ` ≥ ${target.atLeast}` : ` ≤ ${target.atMost}`
}

const describeVerdict = (verdict: Verdict) => {
  const met = isMet(verdict)
  const outcome = met === undefined ? "" : met ? " met" : " MISSED"
  return `${verdict.what} ${verdict.ratio.toFixed(2)}${describeTarget(verdict.target)}${outcome}`
}

const MEBIBYTE = 1024 * 1024
const MEMORY_TARGET_MEBIBYTES = 200

const notes = (report: Report): ReadonlyArray<string> => {
  const { meanBatch, pgbenchPerSecond, residentBytes, sizes } = report
  const mixed = report.comparisons[0]
  const oneByOne =
    pgbenchPerSecond === undefined || mixed === undefined
      ? "pgbench: left out (it is not on the PATH)"
      : `pgbench, the peer's statements, one transaction per operation: ${whole(pgbenchPerSecond)} operations/s (ours: ${(mixed.ours.perSecond / pgbenchPerSecond).toFixed(2)} ×)`
  const memory =
    residentBytes === undefined
      ? "memory of the service: not known on this system"
      : `memory of the service after the load: ${whole(residentBytes / MEBIBYTE)} MiB (target ≤ ${MEMORY_TARGET_MEBIBYTES})`
  return [
    `mean batch of the first measure: ${meanBatch.toFixed(1)} operations in one transaction`,
    oneByOne,
    memory,
    ...sizes.map(
      ({ p50Millis, path, ratio, records, target }) =>
        `GET ${path}: p50 ${millis(p50Millis[1])} ms with ${whole(records[1])} records, ${millis(p50Millis[0])} ms with ${whole(records[0])}: ratio ${ratio.toFixed(2)} ≤ ${target.atMost} ${ratio <= target.atMost ? "met" : "MISSED"}`
    ),
    `${os.availableParallelism()} CPUs (${os.cpus()[0]?.model.trim() ?? "unknown"}), Node ${process.version}; durable commits; medians of alternating runs`,
    "with a workspace for each connection every transaction of ours holds one operation"
  ]
}

export const jsonReport = (report: Report): string =>
  `${JSON.stringify(
    {
      node: process.version,
      cpus: os.availableParallelism(),
      ...report,
      comparisons: report.comparisons.map((comparison) => ({
        ...comparison,
        verdicts: comparison.verdicts.map((verdict) => ({ ...verdict, met: isMet(verdict) }))
      }))
    },
    null,
    2
  )}\n`
