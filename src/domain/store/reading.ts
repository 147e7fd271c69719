// What the reads of commitments and memories share: pages, and history from the ledger.
import type { JsonObject } from "../jsonValue.ts"

/** Columns that each row of a page carries beside its record. */
export interface ListPage {
  readonly ledger_time: Date
  readonly total: number
}

/** The head is always there; an empty page is its row with no record beside it. */
export const toPage = <Row extends { readonly id: string }, Item>(
  rows: ReadonlyArray<Row & ListPage>,
  toRecord: (row: Row) => Item
) => ({
  records: rows.filter((row) => row.id !== null).map(toRecord),
  total: rows[0]?.total ?? 0,
  ledgerTime: rows[0]?.ledger_time.getTime() ?? 0
})

/** One entry as `json_agg` delivers it. */
export const HISTORY_COLUMNS = `json_build_object(
  'opId', entry.op_id, 'op', entry.op, 'actor', entry.actor,
  'time', (extract(epoch from entry.time) * 1000)::bigint, 'payload', entry.payload)`

export interface HistoryRow {
  readonly opId: string
  readonly op: string
  readonly actor: string
  readonly time: number
  readonly payload: string
}

/** An entry with its operation read again. */
export interface HistoryEntry extends Omit<HistoryRow, "payload"> {
  readonly operation: JsonObject
}

export const toHistory = (rows: ReadonlyArray<HistoryRow>): ReadonlyArray<HistoryEntry> =>
  rows.map(({ payload, ...entry }) => ({
    ...entry,
    operation: JSON.parse(payload) as JsonObject
  }))
