// What the tests of webhook delivery share: an endpoint, the outbox and the log as PostgreSQL has them,
// and what every callback must be, whoever received it.
import { createHmac } from "node:crypto"
import { assert } from "vitest"
import { until } from "../faults/database.ts"
import { clientOf } from "../rpc/clients.ts"
import { withClient } from "../support/postgres.ts"
import {
  type ReceivedRequest,
  type ReceiverOptions,
  startReceiver,
  type TestReceiver
} from "../support/receiver.ts"
import type { TestService } from "../support/service.ts"

export const SECRET = "the secret of the tests"

type Target = Parameters<typeof withClient>[0]

export const register = (
  service: Pick<TestService, "record">,
  url: string,
  fields: object = {}
): Promise<string> => service.record({ op: "webhook.register", url, secret: SECRET, ...fields })

/** A registered receiver, which is removed again when the test ends. */
export interface Listener extends TestReceiver {
  readonly id: string
}

export const listen = async (
  service: TestService,
  fields: object = {},
  options: ReceiverOptions = {}
): Promise<Listener> => {
  const receiver = await startReceiver(options)
  const id = await register(service, receiver.url, fields)
  return {
    ...receiver,
    id,
    [Symbol.asyncDispose]: async () => {
      await clientOf(service)
        .settings.webhooks.remove.mutate({ id })
        .catch(() => {})
      await receiver.stop()
    }
  }
}

/** A commitment that is claimed: one callback. Answers its id. */
export const claimOne = async (
  service: Pick<TestService, "record">,
  title = "to be claimed"
): Promise<string> => {
  const id = await service.record({ op: "commit", title })
  return service.record({ op: "claim", id, owner: "agent:one" })
}

export const close = (id: string) => ({ op: "close", id, result: "pass", evidence: [] })

export interface DeliveryRow {
  readonly id: string
  readonly endpoint_id: string
  readonly event_id: string
  readonly commitment_id: string
  readonly status: string
  readonly attempts: number
  readonly due_at: Date
  readonly claimed_by: string | null
  readonly claim_token: string | null
  readonly claimed_until: Date | null
  readonly payload: string
}

export const readDeliveries = (target: Target): Promise<ReadonlyArray<DeliveryRow>> =>
  withClient(target, async (client) => {
    const { rows } = await client.query<DeliveryRow>(
      `select delivery.*, event.payload from webhook_deliveries delivery
       join webhook_events event using (workspace_id)
       where event.id = delivery.event_id order by delivery.seq, delivery.id`
    )
    return rows
  })

export interface AttemptRow {
  readonly delivery_id: string
  readonly attempt: number
  readonly started_at: Date
  readonly duration_ms: number
  readonly http_status: number | null
  readonly failure: string | null
  readonly detail: string | null
  readonly response: string
}

export const readAttempts = (target: Target): Promise<ReadonlyArray<AttemptRow>> =>
  withClient(target, async (client) => {
    const { rows } = await client.query<AttemptRow>(
      "select * from webhook_attempts order by started_at, delivery_id, attempt"
    )
    return rows
  })

/** Waits until nothing is pending any more. */
export const untilEnded = (
  target: Target,
  patienceMillis?: number
): Promise<ReadonlyArray<DeliveryRow>> =>
  until(
    "every delivery has ended",
    async () => {
      const rows = await readDeliveries(target)
      return rows.every(({ status }) => status !== "pending") && rows
    },
    patienceMillis
  )

// biome-ignore lint/suspicious/noExplicitAny: tests look into payloads freely, as JSON.parse does.
export const eventOf = ({ text }: Pick<ReceivedRequest, "text">): any => JSON.parse(text)

/** «The HMAC-SHA256 of the raw request body, … encoded as lowercase hexadecimal.» */
export const serviceSignature = (body: Buffer, secret = SECRET): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`

/** What is true of every attempt. */
export const assertCallback = (
  request: ReceivedRequest,
  expected: { readonly attempt?: number; readonly secret?: string } = {}
): void => {
  const { body, headers, method } = request
  assert.strictEqual(method, "POST")
  assert.strictEqual(headers["content-type"], "application/json")
  assert.strictEqual(headers["x-service-signature"], serviceSignature(body, expected.secret))
  assert.match(String(headers["webhook-id"]), /^evt_[0-9a-z]{26}$/)
  assert.match(String(headers["webhook-timestamp"]), /^\d+$/)
  assert.match(String(headers["webhook-signature"]), /^v1,\S+/)
  assert.strictEqual(headers["ledger-attempt"], String(expected.attempt ?? 1))
  assert.match(String(headers["user-agent"]), /^workspace-ledger\//)
}
