// The database as the fault tests look at it and disturb it, all through `pg`: what is in the ledger,
// a workspace that is held, payloads that make a statement fail or wait, and who waits for what.
import { setTimeout as pause } from "node:timers/promises"
import type pg from "pg"
import { withClient } from "../support/postgres.ts"

type Target = Parameters<typeof withClient>[0]

export interface Entry {
  readonly seq: number
  readonly op_id: string
  readonly op: string
  readonly actor: string
  readonly record_id: string
  readonly time: Date
  readonly payload: string
  /** The transaction that wrote it. */
  readonly transaction: string
}

/** The whole ledger in its order. */
export const readEntries = (target: Target): Promise<ReadonlyArray<Entry>> =>
  withClient(target, async (client) => {
    const { rows } = await client.query<Entry>(
      `select seq::int, op_id, op, actor, record_id, time, payload, xmin::text as transaction
       from ledger_entries order by workspace_id, seq`
    )
    return rows
  })

/** The one text by which a test's operations are told apart: the body, the title or the owner. */
export const marksOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> =>
  entries.map(({ payload }) => {
    const { body, owner, title } = JSON.parse(payload)
    return body ?? title ?? owner
  })

/** Looks again and again, for what no event tells, until there is something. */
export const until = async <A>(
  what: string,
  look: () => Promise<A | undefined | false>,
  patienceMillis = 20_000
): Promise<A> => {
  const deadline = performance.now() + patienceMillis
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`)
    await pause(10)
  }
}

/** Waits until a service's statement waits for somebody else's lock. */
export const untilLockIsAwaited = (client: pg.Client): Promise<boolean> =>
  until("a statement waits for a lock", async () => {
    const { rowCount } = await client.query(
      `select 1 from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and pid <> pg_backend_pid()`
    )
    return rowCount !== null && rowCount > 0
  })

/**
 * Holds every workspace of the database as a slow writer would: `use` runs while batches wait for the
 * lock, and they go on when it calls `release`, or when it has ended.
 */
export const whileHeld = <A>(
  target: Target,
  use: (held: {
    readonly release: () => Promise<void>
    readonly untilAwaited: () => Promise<boolean>
  }) => Promise<A>
): Promise<A> =>
  withClient(target, async (client) => {
    await client.query("begin")
    await client.query("select from workspace_heads for no key update")
    let open = true
    const release = async () => {
      if (open) await client.query("rollback")
      open = false
    }
    try {
      return await use({ release, untilAwaited: () => untilLockIsAwaited(client) })
    } finally {
      await release()
    }
  })

/**
 * From now on an entry is refused when its payload has the word `poison` (an error of the database's
 * own code), `unstorable` (a value out of range) or `oversized` (a limit of the program), and takes
 * half a second when it has the word `slow`.
 */
export const installFaults = (target: Target): Promise<unknown> =>
  withClient(target, (client) =>
    client.query(
      `create function disturb() returns trigger language plpgsql as $$
       begin
         if new.payload like '%poison%' then
           raise exception 'relation "internal_secret" is broken at /var/lib/pg';
         elsif new.payload like '%unstorable%' then
           raise exception 'smallint out of range' using errcode = '22003';
         elsif new.payload like '%oversized%' then
           raise exception 'row is too big' using errcode = '54000';
         elsif new.payload like '%slow%' then
           perform pg_sleep(0.5);
         end if;
         return new;
       end $$;
       create trigger disturb before insert on ledger_entries for each row
         execute function disturb()`
    )
  )

/** Ends every connection of the service to this database, as an administrator or a failover would. */
export const terminateConnections = (target: Target): Promise<number> =>
  withClient(target, async (client) => {
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`
    )
    return rowCount ?? 0
  })
