// Table webhook_endpoints: the registered receivers of callbacks. Settings edit them; they are not a
// projection of the ledger.
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { WebhookEndpoint } from "../records.ts"
import { lists, texts, time, times } from "./columns.ts"

interface EndpointRow {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly events: ReadonlyArray<string>
  readonly states: ReadonlyArray<string>
  readonly enabled: boolean
  readonly previous_secret: string | null
  readonly previous_secret_until: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

const toEndpoint = (row: EndpointRow): WebhookEndpoint => ({
  id: row.id,
  url: row.url,
  secret: row.secret,
  events: row.events,
  states: row.states,
  enabled: row.enabled,
  previousSecret:
    row.previous_secret === null || row.previous_secret_until === null
      ? null
      : { secret: row.previous_secret, until: row.previous_secret_until.getTime() },
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime()
})

export const loadEndpointsAt = Effect.fnUntraced(function* (
  workspaceId: string,
  urls: ReadonlyArray<string>
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<EndpointRow>`
    select * from webhook_endpoints
    where workspace_id = ${workspaceId}::uuid and url = any(${texts(urls)})`
  return rows.map(toEndpoint)
})

export const listEndpoints = Effect.fnUntraced(function* (workspaceId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<EndpointRow>`
    select * from webhook_endpoints
    where workspace_id = ${workspaceId}::uuid
    order by created_at, id`
  return rows.map(toEndpoint)
})

/** Undefined when the workspace has no such endpoint. */
export const findEndpoint = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<EndpointRow>`
    select * from webhook_endpoints
    where workspace_id = ${workspaceId}::uuid and id = ${id}`
  return rows.map(toEndpoint)[0]
})

/** A part of the statement that writes a batch. */
export const saveEndpoints = (
  sql: SqlClient.SqlClient,
  workspaceId: string,
  endpoints: ReadonlyArray<WebhookEndpoint>
) => sql`
  insert into webhook_endpoints
    (workspace_id, id, url, secret, events, states, created_at, updated_at)
  select ${workspaceId}::uuid, id, url, secret,
    array(select jsonb_array_elements_text(events::jsonb)),
    array(select jsonb_array_elements_text(states::jsonb)),
    created_at, updated_at
  from unnest(
    ${texts(endpoints.map((endpoint) => endpoint.id))},
    ${texts(endpoints.map((endpoint) => endpoint.url))},
    ${texts(endpoints.map((endpoint) => endpoint.secret))},
    ${lists(endpoints.map((endpoint) => endpoint.events))},
    ${lists(endpoints.map((endpoint) => endpoint.states))},
    ${times(endpoints.map((endpoint) => endpoint.createdAt))},
    ${times(endpoints.map((endpoint) => endpoint.updatedAt))}
  ) as endpoint (id, url, secret, events, states, created_at, updated_at)
  on conflict (workspace_id, id) do update set
    secret = excluded.secret, previous_secret = null, previous_secret_until = null,
    events = excluded.events, states = excluded.states, updated_at = excluded.updated_at`

/** Writes what is given and nothing else: a rotation at the same time is not undone. */
export const changeEndpoint = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string,
  change: {
    readonly states?: ReadonlyArray<string> | undefined
    readonly enabled?: boolean | undefined
    readonly now: number
  }
) {
  const sql = yield* SqlClient.SqlClient
  const { enabled = null, now, states } = change
  const rows = yield* sql<EndpointRow>`
    update webhook_endpoints set
      states = coalesce(${states === undefined ? null : texts(states)}, states),
      enabled = coalesce(${enabled}::boolean, enabled), updated_at = ${time(now)}
    where workspace_id = ${workspaceId}::uuid and id = ${id}
    returning *`
  return rows.map(toEndpoint)[0]
})

/** The secret that is current when the row is changed signs on until `until`. */
export const changeSecret = Effect.fnUntraced(function* (
  workspaceId: string,
  id: string,
  change: { readonly secret: string; readonly until: number; readonly now: number }
) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<EndpointRow>`
    update webhook_endpoints set
      secret = ${change.secret}, previous_secret = secret,
      previous_secret_until = ${time(change.until)}, updated_at = ${time(change.now)}
    where workspace_id = ${workspaceId}::uuid and id = ${id}
    returning *`
  return rows.map(toEndpoint)[0]
})

/** Answers whether there was such an endpoint. */
export const deleteEndpoint = Effect.fnUntraced(function* (workspaceId: string, id: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql`
    delete from webhook_endpoints
    where workspace_id = ${workspaceId}::uuid and id = ${id}
    returning id`
  return rows.length > 0
})
