// The five reads of the spec. Each answers from the projection, in one snapshot of the database.
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { z } from "zod"
import { type InvalidRequest, NotFound, type ServerError, unavailable } from "./errors.ts"
import { isCommitmentId, isMemoryId } from "./ids.ts"
import { quote } from "./limits.ts"
import {
  type CommitmentListQuery,
  commitmentFilter,
  type MemoryListQuery,
  memoryFilter
} from "./listQueries.ts"
import { listCommitments, readCommitment } from "./store/commitmentQueries.ts"
import { orServerError } from "./store/failures.ts"
import { readHead } from "./store/heads.ts"
import { listMemories, readMemory } from "./store/memoryQueries.ts"
import {
  commitmentListItem,
  commitmentView,
  memoryListItem,
  memoryView,
  statusView
} from "./views.ts"
import type {
  Commitment,
  CommitmentListItem,
  Memory,
  MemoryListItem,
  Page,
  StatusSnapshot
} from "./vocabulary.ts"

type Read<A, E = never> = Effect.Effect<A, E | ServerError, SqlClient.SqlClient>

/** `GET /status`: reads one row, whatever the size of the ledger. */
export const getStatus = (workspaceId: string): Read<StatusSnapshot> =>
  readHead(workspaceId).pipe(
    orServerError,
    Effect.flatMap((head) =>
      head === undefined
        ? Effect.fail(unavailable("The workspace cannot be reached."))
        : Effect.succeed(statusView(head))
    )
  )

/** `GET /commitments`: newest first. Fails with `INVALID_REQUEST` when `since` is not a time. */
export const getCommitments = Effect.fnUntraced(function* (
  workspaceId: string,
  query: z.output<typeof CommitmentListQuery>
): Effect.fn.Return<Page<CommitmentListItem>, InvalidRequest | ServerError, SqlClient.SqlClient> {
  const filter = yield* Effect.fromResult(commitmentFilter(query))
  const { ledgerTime, records, total } = yield* orServerError(listCommitments(workspaceId, filter))
  return {
    data: records.map(commitmentListItem),
    pagination: { ...filter.page, total },
    ledgerTime
  }
})

/** `GET /commitments/:id`. «Unknown id gives 404 `NOT_FOUND`.» A memory's id is unknown here. */
export const getCommitment = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string
): Effect.fn.Return<Commitment, NotFound | ServerError, SqlClient.SqlClient> {
  const found = isCommitmentId(id)
    ? yield* orServerError(readCommitment(workspaceId, id))
    : undefined
  if (found === undefined) return yield* notFound("Commitment", id)
  return commitmentView(found.commitment, found.history, [...found.memories])
})

/** `GET /memories`: newest first, dismissed ones left out unless asked for (D7). */
export const getMemories = Effect.fnUntraced(function* (
  workspaceId: string,
  query: z.output<typeof MemoryListQuery>
): Effect.fn.Return<Page<MemoryListItem>, InvalidRequest | ServerError, SqlClient.SqlClient> {
  const filter = yield* Effect.fromResult(memoryFilter(query))
  const { ledgerTime, records, total } = yield* orServerError(listMemories(workspaceId, filter))
  return { data: records.map(memoryListItem), pagination: { ...filter.page, total }, ledgerTime }
})

/** `GET /memories/:id`. «Unknown id gives 404 `NOT_FOUND`.» A commitment's id is unknown here. */
export const getMemory = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string
): Effect.fn.Return<Memory, NotFound | ServerError, SqlClient.SqlClient> {
  const found = isMemoryId(id) ? yield* orServerError(readMemory(workspaceId, id)) : undefined
  if (found === undefined) return yield* notFound("Memory", id)
  return memoryView(found.memory, found.history, [...found.commitments])
})

/** «The message names the id.» */
const notFound = (noun: string, id: string) =>
  new NotFound({ message: `${noun} ${quote(id)} does not exist.` })
