// The peer: what a good engineer would write by hand for the measured operations with Fastify and
// pg. Same wire, same tables, same durability, one transaction per operation; no hash chain, no
// idempotency keys, no callbacks. Started by bench/subjects.ts; prints its address.
import { createHash } from "node:crypto"
import Fastify from "fastify"
import pg from "pg"
import { type Caller, type Operation, perform, Refusal } from "./operations.ts"
import { listCommitments, readCommitment, readStatus } from "./reads.ts"
import { OPERATION_BODY, PAGE_QUERY, RECEIPT } from "./shapes.ts"
import { FIND_TOKEN } from "./statements.ts"

declare module "fastify" {
  interface FastifyRequest {
    caller: Caller
  }
}

/** As many as our service has. Measured: more of them only queue at the sequence row. */
const CONNECTIONS = 10

const pool = new pg.Pool({
  connectionString: process.env.DATABASE_URL,
  max: CONNECTIONS
})

const app = Fastify({ logger: false, ajv: { customOptions: { discriminator: true } } })

app.decorateRequest("caller", null as unknown as Caller)
app.addHook("onRequest", async (request) => {
  const token = request.headers["x-proxy-token"]
  if (typeof token !== "string")
    throw new Refusal(401, "UNAUTHORIZED", "X-Proxy-Token is required.")
  const hash = createHash("sha256").update(token).digest()
  const { rows } = await pool.query({ ...FIND_TOKEN, values: [hash] })
  const found = rows[0]
  if (found === undefined) throw new Refusal(401, "UNAUTHORIZED", "The API token is not valid.")
  if (found.workspace_id !== request.headers["x-workspace-id"]) {
    throw new Refusal(403, "FORBIDDEN", "The API token has no access to this workspace.")
  }
  request.caller = { workspaceId: found.workspace_id, actor: found.label }
})

app.setErrorHandler<Error & { statusCode?: number; code?: string }>((error, _request, reply) => {
  const status = error.statusCode ?? 500
  const code =
    error instanceof Refusal ? error.code : status < 500 ? "INVALID_REQUEST" : "SERVER_ERROR"
  const message = status < 500 ? error.message : "Unexpected internal error."
  return reply.code(status).send({ success: false, error: { code, message } })
})

app.post<{ Body: Operation }>(
  "/ops",
  { schema: { body: OPERATION_BODY, response: { 200: RECEIPT } } },
  (request) => perform(pool, request.caller, request.body)
)
app.get("/status", (request) => readStatus(pool, request.caller.workspaceId))
app.get<{ Querystring: { limit: number; offset: number } }>(
  "/commitments",
  { schema: { querystring: PAGE_QUERY } },
  (request) => listCommitments(pool, request.caller.workspaceId, request.query)
)
app.get<{ Params: { id: string } }>("/commitments/:id", (request) =>
  readCommitment(pool, request.caller.workspaceId, request.params.id)
)

const address = await app.listen({ host: "127.0.0.1", port: 0 })
console.log(`listening on ${address}`)

process.once("SIGTERM", () => {
  app
    .close()
    .then(() => pool.end())
    .finally(() => process.exit(0))
})
