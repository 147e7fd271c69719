// The first schema: workspaces and their tokens, the ledger and its head, and the projection that
// the reads answer from. Every table is keyed by workspace first, so that one workspace is one shard.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const STATEMENTS = [
  `create table workspaces (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null
  )`,
  `create table tokens (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    hash bytea not null,
    prefix text not null,
    label text,
    role text not null check (role in ('admin', 'member')),
    created_at timestamptz not null,
    last_used_at timestamptz,
    revoked_at timestamptz,
    primary key (workspace_id, id)
  )`,
  `create unique index tokens_by_hash on tokens (hash)`,

  // The head is its own table, so that the lock a batch takes on it blocks no foreign key check. Its
  // row is updated by every batch: free space in the page keeps those updates heap-only.
  `create table workspace_heads (
    workspace_id uuid primary key references workspaces (id),
    last_seq bigint not null,
    last_hash bytea not null,
    last_time timestamptz not null,
    open bigint not null,
    claimed bigint not null,
    in_review bigint not null,
    closed bigint not null,
    reopened bigint not null,
    untriaged bigint not null,
    triaged bigint not null,
    linked bigint not null,
    committed bigint not null,
    dismissed bigint not null
  ) with (fillfactor = 50)`,

  // Append-only: the service has no UPDATE or DELETE on it. The payload is text, because jsonb would
  // reorder it and the hash is over its exact characters.
  `create table ledger_entries (
    workspace_id uuid not null references workspaces (id),
    seq bigint not null,
    format smallint not null,
    op_id text not null,
    op text not null,
    actor text not null,
    record_id text not null,
    time timestamptz not null,
    payload text not null,
    prev_hash bytea not null,
    hash bytea not null,
    primary key (workspace_id, seq)
  )`,
  `create index ledger_entries_by_record on ledger_entries (workspace_id, record_id, seq)`,

  `create table commitments (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    created_seq bigint not null,
    title text not null,
    body text,
    state text not null check (state in ('open', 'claimed', 'in_review', 'closed')),
    result text check (result in ('pass', 'fail')),
    owner text,
    priority text,
    tags text[] not null,
    meta text not null,
    memory_id text,
    reopened boolean not null,
    approved boolean not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    closed_at timestamptz,
    primary key (workspace_id, id)
  ) with (fillfactor = 80)`,
  `create unique index commitments_newest on commitments (workspace_id, created_seq)`,
  `create index commitments_by_state on commitments (workspace_id, state, created_seq)`,
  `create index commitments_reopened on commitments (workspace_id, created_seq) where reopened`,
  `create index commitments_by_owner on commitments (workspace_id, owner, created_seq)
    where owner is not null`,
  `create index commitments_by_update on commitments (workspace_id, updated_at)`,
  `create index commitments_by_tag on commitments using gin (tags) where tags <> '{}'`,

  `create table memories (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    created_seq bigint not null,
    body text not null,
    kind text,
    status text not null
      check (status in ('untriaged', 'triaged', 'linked', 'committed', 'dismissed')),
    tags text[] not null,
    priority text,
    meta text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id)
  ) with (fillfactor = 80)`,
  `create unique index memories_newest on memories (workspace_id, created_seq)`,
  `create index memories_shown on memories (workspace_id, created_seq) where status <> 'dismissed'`,
  `create index memories_by_status on memories (workspace_id, status, created_seq)`,
  `create index memories_by_kind on memories (workspace_id, kind, created_seq)
    where kind is not null`,
  `create index memories_by_creation on memories (workspace_id, created_at)`,

  `create table links (
    workspace_id uuid not null references workspaces (id),
    memory_id text not null,
    commitment_id text not null,
    seq bigint not null,
    primary key (workspace_id, memory_id, commitment_id)
  )`,
  `create index links_by_commitment on links (workspace_id, commitment_id, seq)`,

  `create table idempotency_keys (
    workspace_id uuid not null references workspaces (id),
    token_id text not null,
    key text not null,
    fingerprint text not null,
    op_id text not null,
    record_id text not null,
    expires_at timestamptz not null,
    primary key (workspace_id, token_id, key)
  )`,
  `create index idempotency_keys_by_expiry on idempotency_keys (expires_at)`,

  `create table webhook_endpoints (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    url text not null,
    secret text not null,
    events text[] not null,
    states text[] not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id),
    unique (workspace_id, url)
  )`
]

export const createLedger = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of STATEMENTS) yield* sql.unsafe(statement)
})
