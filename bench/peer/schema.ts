// The peer's tables: the same records, the same indexes and the same gapless sequence as the
// service's, without hashes. Called by bench/subjects.ts before the peer starts.

/** Run once, in an empty database. */
export const PEER_SCHEMA = `
  create table workspaces (
    id uuid primary key,
    name text not null
  );
  create table tokens (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    hash bytea not null,
    label text not null,
    revoked_at timestamptz,
    primary key (workspace_id, id)
  );
  create unique index on tokens (hash);

  create table ledger_heads (
    workspace_id uuid primary key references workspaces (id),
    last_seq bigint not null default 0,
    last_time timestamptz not null default 'epoch',
    open bigint not null default 0,
    claimed bigint not null default 0,
    closed bigint not null default 0,
    untriaged bigint not null default 0
  ) with (fillfactor = 50);

  create table ledger_entries (
    workspace_id uuid not null references workspaces (id),
    seq bigint not null,
    op_id text not null,
    op text not null,
    actor text not null,
    record_id text not null,
    time timestamptz not null,
    payload jsonb not null,
    primary key (workspace_id, seq)
  );
  create index on ledger_entries (workspace_id, record_id, seq);

  create table commitments (
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
    meta jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id)
  ) with (fillfactor = 80);
  create unique index on commitments (workspace_id, created_seq);
  create index on commitments (workspace_id, state, created_seq);
  create index on commitments (workspace_id, owner, created_seq) where owner is not null;
  create index on commitments (workspace_id, updated_at);
  create index on commitments using gin (tags) where tags <> '{}';

  create table memories (
    workspace_id uuid not null references workspaces (id),
    id text not null,
    created_seq bigint not null,
    body text not null,
    kind text,
    status text not null,
    tags text[] not null,
    priority text,
    meta jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (workspace_id, id)
  ) with (fillfactor = 80);
  create unique index on memories (workspace_id, created_seq);
  create index on memories (workspace_id, created_seq) where status <> 'dismissed';
  create index on memories (workspace_id, status, created_seq);
  create index on memories (workspace_id, kind, created_seq) where kind is not null;
  create index on memories (workspace_id, created_at);

  create table links (
    workspace_id uuid not null references workspaces (id),
    memory_id text not null,
    commitment_id text not null,
    seq bigint not null,
    primary key (workspace_id, memory_id, commitment_id)
  );
  create index on links (workspace_id, commitment_id, seq);`

/** A workspace, its head and its token. The first parameter of each is the workspace's id. */
export const ADD_WORKSPACE = {
  workspace: "insert into workspaces (id, name) values ($1, $2)",
  head: "insert into ledger_heads (workspace_id) values ($1)",
  token: "insert into tokens (workspace_id, id, hash, label) values ($1, 'tok_1', $2, 'admin')"
} as const
