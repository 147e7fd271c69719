// A workspace's ledger from its first entry on, read as it is asked for. Called by the command line.
import { Effect, Option, Stream } from "effect"
import { type EntryRow, readEntries } from "./store/entries.ts"
import { orServerError } from "./store/failures.ts"

/** Entries may be large: a page of them is what is held at a time. */
export const PAGE_ENTRIES = 64

/**
 * The entries in their order. Those that are written meanwhile come too, until the end is reached:
 * entries become visible in their order, so none is skipped.
 */
export const readLedger = (workspaceId: string) =>
  Stream.paginate(0, (afterSeq) =>
    readEntries(workspaceId, afterSeq, PAGE_ENTRIES).pipe(
      orServerError,
      Effect.map((rows): readonly [ReadonlyArray<EntryRow>, Option.Option<number>] => {
        const last = rows.at(-1)
        const isEnd = last === undefined || rows.length < PAGE_ENTRIES
        return [rows, isEnd ? Option.none() : Option.some(Number(last.seq))]
      })
    )
  )
