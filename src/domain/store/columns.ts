// Columns of values as PostgreSQL array parameters, for multi-row statements over `unnest`. Types
// are said outright, because a column of nulls or of nothing has none to infer.
import { PgTypes } from "@effect/sql-pg"
import { Result } from "effect"

const column =
  <Value>(oid: number) =>
  (values: ReadonlyArray<Value>): PgTypes.Parameter =>
    Result.getOrThrow(PgTypes.array(values, oid))

export const texts = column<string | null>(PgTypes.OID.text)
export const booleans = column<boolean>(PgTypes.OID.bool)
export const binaries = column<Uint8Array>(PgTypes.OID.bytea)
/** Milliseconds since the epoch, as `timestamptz`. */
export const times = column<number | null>(PgTypes.OID.timestamptz)

const bigints = column<bigint>(PgTypes.OID.int8)
export const integers = (values: ReadonlyArray<number>) => bigints(values.map(BigInt))

/**
 * PostgreSQL has no array of arrays of different lengths, so a column of lists travels as a column
 * of JSON texts; `list_of` in the statement makes `text[]` of each.
 */
export const lists = (values: ReadonlyArray<ReadonlyArray<string>>) =>
  texts(values.map((list) => JSON.stringify(list)))

/** One time parameter, from milliseconds since the epoch. */
export const time = (milliseconds: number): PgTypes.Parameter => PgTypes.timestamptz(milliseconds)

/** A `timestamptz` column that may be null, as milliseconds since the epoch. */
export const millisecondsOrNull = (value: Date | null): number | null => value?.getTime() ?? null
