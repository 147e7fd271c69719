// What one batch reads and writes, all inside the transaction that holds the head's lock: each kind
// of row is read with one statement, everything is written with one, and what the batch does not touch
// is in neither.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Loaded } from "../batchDraft.ts"
import type { BatchOutcome } from "../decideBatch.ts"
import { isCommitmentId, isMemoryId } from "../ids.ts"
import type { OperationRequest } from "../operationRequest.ts"
import type { Head } from "../records.ts"
import { loadCommitments, saveCommitments } from "./commitments.ts"
import { insertEntries } from "./entries.ts"
import { updateHead } from "./heads.ts"
import { insertKeptAnswers, loadKeptAnswers } from "./keptAnswers.ts"
import { insertLinks, loadLinks } from "./links.ts"
import { loadMemories, saveMemories } from "./memories.ts"
import { loadEndpointsAt, saveEndpoints } from "./webhookEndpoints.ts"

/** The records, links, endpoints and kept answers that the requests name. */
export const loadNamed = Effect.fnUntraced(function* (
  head: Head,
  requests: ReadonlyArray<OperationRequest>,
  now: number
) {
  const { workspaceId } = head
  const named = namesIn(requests)
  const whenAny = <Name, Row, E, R>(
    names: ReadonlyArray<Name>,
    load: (names: ReadonlyArray<Name>) => Effect.Effect<ReadonlyArray<Row>, E, R>
  ) => (names.length === 0 ? Effect.succeed([]) : load(names))
  const loaded: Loaded = {
    head,
    commitments: yield* whenAny(named.commitments, (ids) => loadCommitments(workspaceId, ids)),
    memories: yield* whenAny(named.memories, (ids) => loadMemories(workspaceId, ids)),
    links: yield* whenAny(named.links, (links) => loadLinks(workspaceId, links)),
    endpoints: yield* whenAny(named.urls, (urls) => loadEndpointsAt(workspaceId, urls)),
    keptAnswers: yield* whenAny(named.keys, (keys) => loadKeptAnswers(workspaceId, keys, now))
  }
  return loaded
})

/** Names that cannot be ids are left out: nothing in the database has them. */
const namesIn = (requests: ReadonlyArray<OperationRequest>) => {
  const ids = new Set<string>()
  const links: Array<{ memoryId: string; commitmentId: string }> = []
  const urls = new Set<string>()
  const keys: Array<{ tokenId: string; key: string }> = []
  for (const { idempotency, operation, tokenId } of requests) {
    if ("id" in operation) ids.add(operation.id)
    if (operation.op === "commit" && operation.source !== undefined) ids.add(operation.source)
    if (operation.op === "link") {
      ids.add(operation.target)
      links.push({ memoryId: operation.id, commitmentId: operation.target })
    }
    if (operation.op === "webhook.register") urls.add(operation.url)
    if (idempotency !== undefined) keys.push({ tokenId, key: idempotency.key })
  }
  return {
    commitments: Array.from(ids).filter(isCommitmentId),
    memories: Array.from(ids).filter(isMemoryId),
    links,
    urls: Array.from(urls),
    keys
  }
}

const KEPT_MILLISECONDS = 24 * 60 * 60 * 1000

/**
 * Writes all that the batch decided, in one statement: each would be a way to PostgreSQL and back while the
 * workspace is locked. A batch in which every operation was refused writes nothing.
 */
export const saveOutcome = Effect.fnUntraced(function* (outcome: BatchOutcome, now: number) {
  const { commitments, endpoints, entries, head, keptAnswers, links, memories } = outcome
  if (entries.length === 0) return
  const sql = yield* SqlClient.SqlClient
  const { workspaceId } = head
  const writes = [
    updateHead(sql, head),
    ...(commitments.length === 0 ? [] : [saveCommitments(sql, workspaceId, commitments)]),
    ...(memories.length === 0 ? [] : [saveMemories(sql, workspaceId, memories)]),
    ...(links.length === 0 ? [] : [insertLinks(sql, workspaceId, links)]),
    ...(endpoints.length === 0 ? [] : [saveEndpoints(sql, workspaceId, endpoints)]),
    ...(keptAnswers.length === 0
      ? []
      : [insertKeptAnswers(sql, workspaceId, keptAnswers, now + KEPT_MILLISECONDS)])
  ]
  const parts = writes.map((write, index) => sql`${sql(`write_${index}`)} as (${write})`)
  yield* sql`with ${sql.csv(parts)} ${insertEntries(sql, workspaceId, entries)}`
})
