// A first session with the typed client, on the service that `npm start` runs. In a clone:
// `npm run build && npm run example`.
import { readFileSync } from "node:fs"
import { createLedgerClient, isLedgerError } from "workspace-ledger/client"

const { baseUrl, caFile, token, workspaceId } = JSON.parse(
  readFileSync(process.argv[2] ?? ".ledger/credentials.json", "utf8")
)
const client = createLedgerClient({ baseUrl, token, workspaceId, ca: caFile })

await client.status.query().catch((error: unknown) => {
  if (isLedgerError(error)) throw error
  console.error(`Nothing answers at ${baseUrl}. Is \`npm start\` running?`)
  process.exit(1)
})

const memory = await client.ops.mutate({ op: "capture", body: "The deploy took an hour" })
const commitment = await client.ops.mutate({
  op: "commit",
  title: "Make the deploy fast",
  source: memory.record_id,
  tags: ["deploy"]
})
const id = commitment.record_id
await client.ops.mutate({ op: "claim", id, owner: "agent:claude" })

try {
  await client.ops.mutate({ op: "claim", id, owner: "agent:other" })
} catch (error) {
  if (!isLedgerError(error, "VALIDATION_ERROR")) throw error
  console.log("refused:", error.message)
}

await client.ops.mutate({
  op: "close",
  id,
  result: "pass",
  summary: "Nine minutes now",
  evidence: [{ type: "log", url: "https://ci.example.org/deploys/1207" }]
})

const { data } = await client.commitments.get.query({ id })
for (const entry of data.history) console.log(entry.timestamp, entry.op, "by", entry.actor)
console.log(data.title, "is", data.state, "with", data.evidence.length, "piece of evidence")
