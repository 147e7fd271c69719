// The measures: the same load on the service and on the peer, in turn, and the medians of both.
import { Effect } from "effect"
import { type Comparison, medianRun, type Run, type Verdict, verdict } from "./figures.ts"
import type { Generator } from "./generator.ts"
import type { Access, Job, Workload } from "./load/job.ts"
import type { Plan, Window } from "./plan.ts"
import { usageOf } from "./processes.ts"
import type { LedgerSubject, Subject } from "./subjects.ts"

export interface Bench {
  readonly plan: Plan
  readonly generator: Generator
  readonly ours: LedgerSubject
  readonly peer: Subject
}

interface Measure {
  readonly name: string
  readonly window: Window
  readonly connections: number
  readonly accesses: (subject: Subject) => ReadonlyArray<Access>
  readonly workload: (subject: Subject) => Workload
  readonly targets: ReadonlyArray<Pick<Verdict, "what" | "target">>
}

const MIXED: Workload = { kind: "mixed" }
const firstWorkspace = (subject: Subject) => [subject.accesses[0]]
const everyWorkspace = (subject: Subject) => subject.accesses

const run = Effect.fnUntraced(function* (
  generator: Generator,
  subject: Subject,
  job: Omit<Job, "baseUrl">
) {
  const before = usageOf(subject.pid)
  const outcome = yield* generator.run({ ...job, baseUrl: subject.baseUrl })
  const after = usageOf(subject.pid)
  const cpuMillis = before && after ? after.cpuMillis - before.cpuMillis : undefined
  const figures: Run = {
    perSecond: outcome.requests / outcome.seconds,
    p50Millis: outcome.p50Millis,
    p99Millis: outcome.p99Millis,
    cpuMicros: cpuMillis === undefined ? undefined : (cpuMillis * 1000) / outcome.requests
  }
  return { figures, outcome }
})

/** Runs in turn, starting with the other subject each round, so that drift hurts both alike. */
const compare = Effect.fnUntraced(function* ({ generator, ours, peer }: Bench, measure: Measure) {
  yield* Effect.logInfo(`measuring ${measure.name} …`)
  const runs = new Map<Subject, Array<Run>>([
    [ours, []],
    [peer, []]
  ])
  for (let round = 0; round < measure.window.rounds; round++) {
    for (const subject of round % 2 === 0 ? [ours, peer] : [peer, ours]) {
      const { figures } = yield* run(generator, subject, {
        accesses: measure.accesses(subject),
        workload: measure.workload(subject),
        connections: measure.connections,
        seconds: measure.window.seconds
      })
      runs.get(subject)?.push(figures)
    }
  }
  const oursMedian = medianRun(runs.get(ours) ?? [])
  const peerMedian = medianRun(runs.get(peer) ?? [])
  return {
    measure: measure.name,
    ours: oursMedian,
    peer: peerMedian,
    verdicts: measure.targets.map(({ what, target }) =>
      verdict(what, oursMedian, peerMedian, target)
    )
  } satisfies Comparison
})

/** Compiles what is hot in both, fills their pools, and makes records for the reads. */
export const warmUp = Effect.fnUntraced(function* ({ generator, ours, peer, plan }: Bench) {
  yield* Effect.logInfo("warming up …")
  const commitments = new Map<Subject, ReadonlyArray<string>>()
  for (const subject of [ours, peer]) {
    const { outcome } = yield* run(generator, subject, {
      accesses: firstWorkspace(subject),
      workload: MIXED,
      connections: plan.connections,
      seconds: plan.warmUpSeconds
    })
    commitments.set(subject, outcome.commitmentIds)
    yield* run(generator, subject, {
      accesses: firstWorkspace(subject),
      workload: { kind: "get", paths: readPaths(outcome.commitmentIds) },
      connections: plan.connections,
      seconds: plan.warmUpSeconds / 2
    })
  }
  return commitments
})

const readPaths = (ids: ReadonlyArray<string>) => [
  "/status",
  "/commitments?limit=50",
  ...ids.slice(0, 8).map((id) => `/commitments/${id}`)
]

/** All writes of the mix go to one workspace; then to as many as there are connections. */
export const measureWrites = Effect.fnUntraced(function* (bench: Bench) {
  const { ours, plan } = bench
  const before = yield* ours.batches
  const mixed = yield* compare(bench, {
    name: `POST /ops mixed, ${plan.connections} connections, one workspace`,
    window: plan.mixed,
    connections: plan.connections,
    accesses: firstWorkspace,
    workload: () => MIXED,
    targets: [
      { what: "rate", target: { atLeast: 3 } },
      { what: "p99", target: { atMost: 1 } }
    ]
  })
  const after = yield* ours.batches
  const meanBatch =
    (after.operations - before.operations) / Math.max(1, after.transactions - before.transactions)
  const single = yield* compare(bench, {
    name: "POST /ops mixed, 1 connection",
    window: plan.single,
    connections: 1,
    accesses: firstWorkspace,
    workload: () => MIXED,
    targets: [{ what: "p50", target: { atMost: 1.2 } }]
  })
  const spread = yield* compare(bench, {
    name: `POST /ops mixed, ${plan.connections} connections, ${ours.accesses.length} workspaces`,
    window: plan.spread,
    connections: plan.connections,
    accesses: everyWorkspace,
    workload: () => MIXED,
    targets: [{ what: "rate", target: undefined }]
  })
  return { comparisons: [mixed, single, spread], meanBatch }
})

export const measureReads = Effect.fnUntraced(function* (
  bench: Bench,
  commitments: ReadonlyMap<Subject, ReadonlyArray<string>>
) {
  const { plan } = bench
  const read = (name: string, paths: (subject: Subject) => ReadonlyArray<string>) =>
    compare(bench, {
      name: `GET ${name}, ${plan.connections} connections`,
      window: plan.reads,
      connections: plan.connections,
      accesses: firstWorkspace,
      workload: (subject) => ({ kind: "get", paths: paths(subject) }),
      targets: [{ what: "rate", target: { atLeast: 1 } }]
    })
  return [
    yield* read("/commitments?limit=50", () => ["/commitments?limit=50"]),
    yield* read("/commitments/:id", (subject) =>
      (commitments.get(subject) ?? []).map((id) => `/commitments/${id}`)
    ),
    yield* read("/status", () => ["/status"])
  ]
})

/** The time of one request after another on one connection: what the size of the ledger may change. */
export const measureLatency = Effect.fnUntraced(function* (
  generator: Generator,
  subject: Subject,
  path: string,
  seconds: number
) {
  const { figures } = yield* run(generator, subject, {
    accesses: firstWorkspace(subject),
    workload: { kind: "get", paths: [path] },
    connections: 1,
    seconds
  })
  return figures.p50Millis
})
