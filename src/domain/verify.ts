// Verification: recomputes a workspace's hash chain and, from the ledger alone, its projection, and
// tells the first thing that does not match. Called by the command line; safe beside a service.
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql"
import {
  compactCommitment,
  compactMemory,
  type Difference,
  firstDifference
} from "./compactRecord.ts"
import { countChanges } from "./counts.ts"
import { NotFound } from "./errors.ts"
import { type Head, type Link, NO_COUNTS } from "./records.ts"
import { linkName, type Projection } from "./replay.ts"
import { toCommitment } from "./store/commitments.ts"
import { orServerError } from "./store/failures.ts"
import { readHead } from "./store/heads.ts"
import { toMemory } from "./store/memories.ts"
import {
  readCommitmentRows,
  readLinksAfter,
  readMemoryRows,
  readOneSnapshot
} from "./store/projection.ts"
import { type Problem, type ReplayedChain, replayChain } from "./verifyChain.ts"

export type { Problem } from "./verifyChain.ts"

export interface Verification {
  readonly workspaceId: string
  /** How many entries match; all of them when there is no problem. */
  readonly entries: number
  readonly commitments: number
  readonly memories: number
  readonly links: number
  /** Of the last entry that matches. Whoever keeps it can tell later that nothing before changed. */
  readonly lastHash: Uint8Array
  readonly problem: Problem | undefined
}

/** Checks one workspace in one snapshot of the database. */
export const verifyWorkspace = Effect.fn("verifyWorkspace")(function* (workspaceId: string) {
  const sql = yield* SqlClient.SqlClient
  return yield* Effect.gen(function* () {
    yield* readOneSnapshot
    const head = yield* readHead(workspaceId)
    if (head === undefined) {
      return yield* new NotFound({ message: `The workspace ${workspaceId} has no ledger.` })
    }
    const chain = yield* replayChain(head)
    const { commitments, memories, links } = chain.projection
    // Comparing takes the records out of the projection, so they are counted before.
    const counted = { commitments: commitments.size, memories: memories.size, links: links.size }
    const problem =
      chain.problem ??
      headProblem(head, chain) ??
      (yield* projectionProblem(head, chain.projection))
    const verification: Verification = {
      workspaceId,
      entries: chain.entries,
      ...counted,
      lastHash: chain.lastHash,
      problem
    }
    return verification
  }).pipe(sql.withTransaction, orServerError)
})

const headProblem = (head: Head, chain: ReplayedChain): Problem | undefined => {
  const { commitments, memories } = chain.projection
  const created = <Record>(after: Record) => ({ before: undefined, after })
  const counts = countChanges(
    NO_COUNTS,
    Array.from(commitments.values(), created),
    Array.from(memories.values(), created)
  )
  const difference = firstDifference(
    { ...headFields(head, head), ...head.counts },
    { ...headFields(head, { ...chain, lastSeq: chain.entries }), ...counts }
  )
  return difference === undefined
    ? undefined
    : recordProblem("head", { id: null, seq: null, name: "The head of the ledger" }, difference)
}

/** Before the first entry the head's time is when the workspace was made: the ledger cannot tell. */
const headFields = (head: Head, end: Pick<Head, "lastSeq" | "lastHash" | "lastTime">) => ({
  lastSeq: end.lastSeq,
  lastHash: Buffer.from(end.lastHash).toString("hex"),
  ...(head.lastSeq === 0 ? {} : { lastTime: end.lastTime })
})

const projectionProblem = Effect.fnUntraced(function* (head: Head, projection: Projection) {
  const { workspaceId } = head
  return (
    (yield* tableProblem({
      noun: "commitment",
      expected: projection.commitments,
      read: (after) => readCommitmentRows(workspaceId, after, PAGE_RECORDS),
      compact: (row) => compactCommitment(toCommitment(row))
    })) ??
    (yield* tableProblem({
      noun: "memory",
      expected: projection.memories,
      read: (after) => readMemoryRows(workspaceId, after, PAGE_RECORDS),
      compact: (row) => compactMemory(toMemory(row))
    })) ??
    (yield* linksProblem(workspaceId, projection.links))
  )
})

const PAGE_RECORDS = 64

interface StoredRow {
  readonly id: string
  readonly created_seq: bigint
}

interface Comparison<Row extends StoredRow, Record, E, R> {
  readonly noun: "commitment" | "memory"
  /** Emptied as its records are found. */
  readonly expected: Map<string, Record>
  readonly read: (afterSeq: bigint) => Effect.Effect<ReadonlyArray<Row>, E, R>
  readonly compact: (row: Row) => Record
}

const BEFORE_ALL = BigInt(Number.MIN_SAFE_INTEGER)

/** The first record, in the order of their creation, that the ledger gives otherwise. */
const tableProblem = Effect.fnUntraced(function* <
  Row extends StoredRow,
  Record extends { readonly id: string; readonly createdSeq: number },
  E,
  R
>({ compact, expected, noun, read }: Comparison<Row, Record, E, R>) {
  let after = BEFORE_ALL
  while (true) {
    const rows = yield* read(after)
    for (const row of rows) {
      const difference = rowDifference(row, expected.get(row.id), compact)
      const about = { id: row.id, seq: Number(row.created_seq), name: `The ${noun} ${row.id}` }
      if (difference !== undefined) return recordProblem(noun, about, difference)
      expected.delete(row.id)
      after = row.created_seq
    }
    if (rows.length < PAGE_RECORDS) break
  }
  const [missing] = expected.values()
  if (missing === undefined) return undefined
  const about = { id: missing.id, seq: missing.createdSeq, name: `The ${noun} ${missing.id}` }
  return recordProblem(noun, about, MISSING)
})

const MISSING: Difference = { field: "id", stored: "nothing", expected: "that it exists" }
const SURPLUS: Difference = { field: "id", stored: "that it exists", expected: "nothing" }

const rowDifference = <Row, Record extends object>(
  row: Row,
  expected: Record | undefined,
  compact: (row: Row) => Record
): Difference | undefined => {
  if (expected === undefined) return SURPLUS
  // A row that was tampered with may hold what no record has: `meta` that is no JSON, a time without end.
  const compared = Result.try(() => firstDifference(compact(row), expected))
  return Result.isSuccess(compared)
    ? compared.success
    : { field: "row", stored: "values that cannot be read", expected: "a record" }
}

const linksProblem = Effect.fnUntraced(function* (
  workspaceId: string,
  expected: Map<string, Link>
) {
  let after = { memoryId: "", commitmentId: "" }
  while (true) {
    const links = yield* readLinksAfter(workspaceId, after, PAGE_RECORDS)
    for (const link of links) {
      const other = expected.get(linkName(link))
      const difference = other === undefined ? SURPLUS : firstDifference(link, other)
      if (difference !== undefined) return linkProblem(link, difference)
      expected.delete(linkName(link))
      after = link
    }
    if (links.length < PAGE_RECORDS) break
  }
  const [missing] = expected.values()
  return missing === undefined ? undefined : linkProblem(missing, MISSING)
})

const linkProblem = (link: Link, difference: Difference): Problem => {
  const name = `The link of ${link.memoryId} to ${link.commitmentId}`
  return recordProblem("link", { id: linkName(link), seq: link.seq, name }, difference)
}

const recordProblem = (
  subject: Problem["subject"],
  about: { readonly id: string | null; readonly seq: number | null; readonly name: string },
  { expected, field, stored }: Difference
): Problem => ({
  subject,
  id: about.id,
  seq: about.seq,
  differs: field,
  message: `${about.name} is not what the ledger gives: of "${field}" the table says ${stored}, the ledger ${expected}.`
})
