// Delivery of webhooks: the outbox. An event is written in the transaction of the move, with one
// delivery for each endpoint that wants it; the row is the promise.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STATEMENTS = [
  `alter table webhook_endpoints
    add column enabled boolean not null default true,
    add column previous_secret text,
    add column previous_secret_until timestamptz`,

  `create table webhook_events (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    type text not null,
    seq bigint not null,
    commitment_id text not null,
    payload text not null,
    created_at timestamptz not null,
    primary key (workspace_id, id)
  )`,

  // attempts counts the attempts that have ended: a claim that is taken over repeats its number. The
  // end of the table is hot: half of each page is room for the versions that claims make, which then
  // touch no index, and vacuum comes by count instead of by share.
  `create table webhook_deliveries (
    workspace_id uuid not null,
    id text not null,
    endpoint_id text not null,
    event_id text not null,
    commitment_id text not null,
    seq bigint not null,
    status text not null check (status in ('pending', 'delivered', 'failed', 'cancelled')),
    attempts integer not null,
    due_at timestamptz not null,
    claimed_by text,
    claim_token text,
    claimed_until timestamptz,
    created_at timestamptz not null,
    ended_at timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, event_id) references webhook_events (workspace_id, id)
  ) with (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000
  )`,
  // What a look into the outbox asks for, for each endpoint; when the next retry is due; and whose turn
  // it is among the first attempts for one commitment. Only what is pending is in them. A table that
  // fills and empties has no useful statistics: to the planner these indexes are all empty and alike.
  // So the first fits only a query that says `seq >= 0`, which is true of every row, and a question
  // about one commitment cannot be answered by reading an endpoint's whole backlog.
  `create index webhook_deliveries_first
    on webhook_deliveries (workspace_id, endpoint_id, due_at, seq)
    where status = 'pending' and attempts = 0 and seq >= 0`,
  `create index webhook_deliveries_retries
    on webhook_deliveries (workspace_id, endpoint_id, due_at, seq)
    where status = 'pending' and attempts > 0`,
  `create index webhook_deliveries_due
    on webhook_deliveries (due_at) where status = 'pending' and attempts > 0`,
  `create index webhook_deliveries_in_order
    on webhook_deliveries (workspace_id, endpoint_id, commitment_id, seq)
    where status = 'pending' and attempts = 0`,

  // The log, newest first: ids sort by time, so the primary key is the index of the whole of it.
  // Every index here is written again when a delivery ends: there are few.
  `create index webhook_deliveries_of_endpoint
    on webhook_deliveries (workspace_id, endpoint_id, id)`,
  `create index webhook_deliveries_not_delivered
    on webhook_deliveries (workspace_id, status, id) where status in ('failed', 'cancelled')`,
  `create index webhook_deliveries_of_event
    on webhook_deliveries (workspace_id, event_id, endpoint_id)`,

  `create table webhook_attempts (
    workspace_id uuid not null,
    delivery_id text not null,
    attempt integer not null,
    started_at timestamptz not null,
    duration_ms integer not null,
    http_status integer,
    failure text,
    detail text,
    response text not null,
    primary key (workspace_id, delivery_id, attempt)
  )`
]

export const createDeliveries = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of STATEMENTS) yield* sql.unsafe(statement)
})
