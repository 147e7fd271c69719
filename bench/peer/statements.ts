// The peer's SQL. An operation that has nothing to decide is one statement, hence one transaction; one
// that depends on the record's state locks the record first and takes the workspace's sequence row as
// late as it can, so that others wait for it only while its last statement and COMMIT run.

export const FIND_TOKEN = {
  name: "find_token",
  text: "select id, workspace_id, label from tokens where hash = $1 and revoked_at is null"
}

/** Takes the next sequence number and a time after every earlier one, and keeps the counts. */
const takeHead = (counts: string) => `
  update ledger_heads
  set last_seq = last_seq + 1, last_time = greatest(last_time + interval '1 ms', $2), ${counts}
  where workspace_id = $1
  returning last_seq, last_time`

const APPEND = `
  insert into ledger_entries (workspace_id, seq, op_id, op, actor, record_id, time, payload)
  select $1, last_seq, $3, $4, $5, $6, last_time, $7 from head`

/** Parameters: workspace, now, op_id, op, actor, memory id, payload, body, kind, tags, meta. */
export const CAPTURE = {
  name: "capture",
  text: `
    with head as (${takeHead("untriaged = untriaged + 1")}), record as (
      insert into memories (workspace_id, id, created_seq, body, kind, status, tags, meta,
        created_at, updated_at)
      select $1, $6, last_seq, $8, $9, 'untriaged', $10, $11, last_time, last_time from head
    ) ${APPEND}`
}

/** Parameters: as above with a commitment id; then title, body, tags, priority, meta. */
export const COMMIT = {
  name: "commit",
  text: `
    with head as (${takeHead("open = open + 1")}), record as (
      insert into commitments (workspace_id, id, created_seq, title, body, state, tags, priority,
        meta, created_at, updated_at)
      select $1, $6, last_seq, $8, $9, 'open', $10, $11, $12, last_time, last_time from head
    ) ${APPEND}`
}

/** Holds the record until the transaction ends. */
export const LOCK_COMMITMENT = {
  name: "lock_commitment",
  text: "select state from commitments where workspace_id = $1 and id = $2 for no key update"
}

/** Parameters: workspace, now, op_id, op, actor, commitment id, payload, owner. */
export const CLAIM = {
  name: "claim",
  text: `
    with head as (${takeHead("open = open - 1, claimed = claimed + 1")}), record as (
      update commitments set state = 'claimed', owner = $8, updated_at = head.last_time
      from head where workspace_id = $1 and id = $6
    ) ${APPEND}`
}

/** Parameters: as above, with the result at the end. */
const close = (from: "open" | "claimed") => ({
  name: `close_${from}`,
  text: `
    with head as (${takeHead(`${from} = ${from} - 1, closed = closed + 1`)}), record as (
      update commitments set state = 'closed', result = $8, updated_at = head.last_time
      from head where workspace_id = $1 and id = $6
    ) ${APPEND}`
})

export const CLOSE = { open: close("open"), claimed: close("claimed") }

export const READ_HEAD = {
  name: "read_head",
  text: "select * from ledger_heads where workspace_id = $1"
}

export const READ_COMMITMENT = {
  name: "read_commitment",
  text: `
    select id, title, body, state, result, owner, priority, tags, meta, created_at, updated_at,
      (
        select coalesce(json_agg(json_build_object('op_id', op_id, 'op', op, 'actor', actor,
          'time', time, 'payload', payload) order by seq), '[]')
        from ledger_entries where workspace_id = $1 and record_id = $2
      ) as entries,
      (
        select coalesce(json_agg(json_build_object('id', memory.id, 'body', memory.body,
          'kind', memory.kind) order by link.seq), '[]')
        from links link join memories memory
          on memory.workspace_id = link.workspace_id and memory.id = link.memory_id
        where link.workspace_id = $1 and link.commitment_id = $2
      ) as linked_memories
    from commitments where workspace_id = $1 and id = $2`
}

/** The head keeps the total of the unfiltered list. Parameters: workspace, limit, offset. */
export const LIST_COMMITMENTS = {
  name: "list_commitments",
  text: `
    select id, title, body, state, owner, priority, tags, meta, created_at, updated_at
    from commitments where workspace_id = $1
    order by created_seq desc limit $2 offset $3`
}
