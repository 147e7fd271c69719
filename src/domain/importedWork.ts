// What is already in a workspace of work that came from elsewhere: idempotency keys are forgotten
// after a day, so an import looks at the records themselves. Called by the command line's imports.
import { Effect, Option, Stream } from "effect"
import { isJsonObject, type JsonObject } from "./jsonValue.ts"
import { orServerError } from "./store/failures.ts"
import { readLaterOperations, readSourcedCommitments } from "./store/importedWork.ts"

/** An operation on a commitment after it was made. */
export interface LaterOperation {
  readonly op: string
  /** The text of an annotation. */
  readonly body: string | undefined
}

/** A commitment that an import made, and what has happened to it since, whoever did it. */
export interface ImportedCommitment {
  readonly id: string
  readonly operations: ReadonlyArray<LaterOperation>
}

const PAGE_RECORDS = 200

/**
 * The commitments whose `meta.<source>.id` names where they came from, by that id. Should two name
 * the same, the older one counts.
 */
export const findImported = Effect.fnUntraced(function* (workspaceId: string, source: string) {
  const pages = Stream.paginate(0, (afterSeq) =>
    readPage(workspaceId, source, afterSeq).pipe(
      Effect.map(({ found, next }) => [found, next] as const)
    )
  )
  const imported = new Map<string, ImportedCommitment>()
  yield* Stream.runForEach(pages, ([sourceId, commitment]) =>
    Effect.sync(() => {
      if (!imported.has(sourceId)) imported.set(sourceId, commitment)
    })
  )
  return imported
})

const readPage = Effect.fnUntraced(function* (
  workspaceId: string,
  source: string,
  afterSeq: number
) {
  const rows = yield* orServerError(
    readSourcedCommitments(workspaceId, source, { afterSeq, count: PAGE_RECORDS })
  )
  const named = rows.flatMap(({ id, meta }) => {
    const sourceId = sourceIdOf(meta, source)
    return sourceId === undefined ? [] : [{ id, sourceId }]
  })
  const operations = yield* readOperations(
    workspaceId,
    named.map(({ id }) => id)
  )
  const last = rows.at(-1)
  return {
    found: named.map(({ id, sourceId }): readonly [string, ImportedCommitment] => [
      sourceId,
      { id, operations: operations.get(id) ?? [] }
    ]),
    next:
      last === undefined || rows.length < PAGE_RECORDS
        ? Option.none<number>()
        : Option.some(last.createdSeq)
  }
})

const sourceIdOf = (meta: JsonObject, source: string): string | undefined => {
  const named = Object.hasOwn(meta, source) ? meta[source] : undefined
  return isJsonObject(named) && typeof named.id === "string" ? named.id : undefined
}

const readOperations = Effect.fnUntraced(function* (
  workspaceId: string,
  ids: ReadonlyArray<string>
) {
  const entries = yield* orServerError(readLaterOperations(workspaceId, ids))
  const operations = new Map<string, Array<LaterOperation>>()
  for (const { op, payload, record_id } of entries) {
    const { body } = JSON.parse(payload) as JsonObject
    const isNote = op === "annotate" && typeof body === "string"
    const operation = { op, body: isNote ? body : undefined }
    const known = operations.get(record_id)
    if (known === undefined) operations.set(record_id, [operation])
    else known.push(operation)
  }
  return operations
})
