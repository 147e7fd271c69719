// Table webhook_deliveries, as those who run the service look at it: how much is pending, and whether
// anything is late.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { time } from "./columns.ts"

export interface DeliveryBacklog {
  /** Deliveries that wait for an attempt, of all workspaces; at most `COUNTED_MOST`. */
  readonly pending: number
  /** When the attempt that is due for longest became due; null when none is due. */
  readonly oldestDueAt: number | null
}

/** Somebody who has more than this pending knows enough. */
export const COUNTED_MOST = 100_000

/** Each part is one walk along a partial index. What waits for a disabled webhook is not late. */
export const readDeliveryBacklog = Effect.fnUntraced(function* (now: number) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ pending: bigint; oldest: Date | null }>`
    select
      (select count(*) from (
        (select from webhook_deliveries where status = 'pending' and attempts = 0
         limit ${COUNTED_MOST})
        union all
        (select from webhook_deliveries where status = 'pending' and attempts > 0
         limit ${COUNTED_MOST})
        limit ${COUNTED_MOST}
      ) counted) as pending,
      (select min(waiting.due_at) from webhook_endpoints endpoint cross join lateral (
        (select due_at from webhook_deliveries
         where workspace_id = endpoint.workspace_id and endpoint_id = endpoint.id
           and status = 'pending' and attempts = 0 and seq >= 0
         order by due_at, seq limit 1)
        union all
        (select due_at from webhook_deliveries
         where workspace_id = endpoint.workspace_id and endpoint_id = endpoint.id
           and status = 'pending' and attempts > 0
         order by due_at, seq limit 1)
      ) waiting
      where endpoint.enabled and waiting.due_at <= ${time(now)}) as oldest`
  const [row] = rows
  return {
    pending: Number(row?.pending ?? 0),
    oldestDueAt: row?.oldest?.getTime() ?? null
  } satisfies DeliveryBacklog
})
