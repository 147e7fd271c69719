// Whether the size of the ledger matters: `/status` and the first page of the list, with a thousand
// records and with a million. The records are made by SQL, as the projection would hold them.
import { Effect } from "effect"
import { median } from "./figures.ts"
import type { Generator } from "./generator.ts"
import { measureLatency } from "./measures.ts"
import { type Postgres, query } from "./postgres.ts"
import { type Subject, startLedger } from "./subjects.ts"

export interface SizeComparison {
  readonly path: string
  readonly records: readonly [small: number, large: number]
  readonly p50Millis: readonly [small: number, large: number]
  readonly ratio: number
  readonly target: { readonly atMost: number }
}

const SMALL_RECORDS = 1_000
const PATHS = ["/status", "/commitments?limit=50"]
const ROUNDS = 5
const SECONDS = 1

/** Both services run side by side, and are asked in turn. */
export const compareSizes = Effect.fnUntraced(function* (
  postgres: Postgres,
  generator: Generator,
  largeRecords: number
) {
  const small = yield* seededLedger(postgres, "ledger_small", SMALL_RECORDS)
  const large = yield* seededLedger(postgres, "ledger_large", largeRecords)
  const comparisons: Array<SizeComparison> = []
  for (const path of PATHS) {
    yield* Effect.logInfo(`measuring GET ${path} by size …`)
    const times: [Array<number>, Array<number>] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      times[0].push(yield* measureLatency(generator, small, path, SECONDS))
      times[1].push(yield* measureLatency(generator, large, path, SECONDS))
    }
    const p50Millis = [median(times[0]), median(times[1])] as const
    comparisons.push({
      path,
      records: [SMALL_RECORDS, largeRecords],
      p50Millis,
      ratio: p50Millis[1] / p50Millis[0],
      target: { atMost: 1.5 }
    })
  }
  return comparisons
})

const seededLedger = Effect.fnUntraced(function* (
  postgres: Postgres,
  database: string,
  records: number
) {
  const subject: Subject = yield* startLedger(postgres, database, 1)
  yield* Effect.logInfo(`making ${records.toLocaleString("en")} records …`)
  yield* query(subject.databaseUrl, async (client) => {
    const { workspaceId } = subject.accesses[0]
    await client.query(SEED_COMMITMENTS, [workspaceId, records])
    await client.query(SEED_ENTRIES, [workspaceId, records])
    await client.query(SEED_HEAD, [workspaceId, records])
    await client.query("vacuum analyze")
  })
  return subject
})

/** Parameters: workspace, count. Half of the commitments are open, half of them closed. */
const SEED_COMMITMENTS = `
  insert into commitments
    (workspace_id, id, created_seq, title, body, state, result, owner, priority, tags, meta,
     memory_id, reopened, approved, created_at, updated_at, closed_at)
  select $1::uuid, 'cmt_' || lpad(seq::text, 26, '0'), seq, 'Work item ' || seq,
    'What is to be done about it, in a sentence of ordinary length.',
    case when seq % 2 = 0 then 'closed' else 'open' end,
    case when seq % 2 = 0 then 'pass' end,
    case when seq % 2 = 0 then 'agent:worker-' || seq % 50 end,
    'high', array['area-' || seq % 20, 'web'], '{}', null, false, false, at, at,
    case when seq % 2 = 0 then at end
  from generate_series(1, $2::bigint) seq,
    lateral (select timestamptz '2026-01-01' + seq * interval '1 second' as at) as times`

/** The reads do not follow the hash chain, so these entries have none. */
const SEED_ENTRIES = `
  insert into ledger_entries
    (workspace_id, seq, format, op_id, op, actor, record_id, time, payload, prev_hash, hash)
  select $1::uuid, seq, 1, 'op_' || lpad(seq::text, 26, '0'), 'commit', 'agent:seed',
    'cmt_' || lpad(seq::text, 26, '0'), timestamptz '2026-01-01' + seq * interval '1 second',
    '{"op":"commit","title":"Work item ' || seq || '"}', ''::bytea, ''::bytea
  from generate_series(1, $2::bigint) seq`

const SEED_HEAD = `
  update workspace_heads set
    last_seq = $2::bigint, last_time = timestamptz '2026-01-01' + $2::bigint * interval '1 second',
    open = $2::bigint - $2::bigint / 2, closed = $2::bigint / 2
  where workspace_id = $1::uuid`
