// A receiver of Workspace Ledger webhooks, to run and to start from.
//
//     WEBHOOK_SECRET=<secret> npm run receiver
//
// (In your own project: `node receiver.ts`, with Node 22.18 or newer.)
// It prints one line for each event that it meets for the first time. While the ledger runs on this
// machine, register http://127.0.0.1:8787/ as the webhook's URL. PORT=0 takes a free port.
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
// In your own project: import { verifyWebhook } from "workspace-ledger/client"
import { verifyWebhook } from "../src/webhookVerification.ts"

const { PORT = "8787", WEBHOOK_SECRET } = process.env
if (!WEBHOOK_SECRET) throw new Error("Set WEBHOOK_SECRET to the secret of the webhook.")
const secret = WEBHOOK_SECRET

const BODY_BYTES_MOST = 10 * 1024 * 1024

/** The raw bytes: a body that is parsed and written again has another signature. */
const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MOST) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * The same event may come more than once: after a timeout, or when you have it sent again. Keep the
 * keys where your own data is, written in the same transaction as what the event makes you do.
 */
const known = new Set<string>()

const handle = async (request: IncomingMessage): Promise<{ status: number; text?: string }> => {
  if (request.method !== "POST") return { status: 405 }
  const body = await readBody(request)
  if (body === undefined) return { status: 413 }
  const verified = await verifyWebhook(body, request.headers, secret)
  if (!verified.ok) return { status: verified.status, text: verified.message }
  if (known.has(verified.dedupKey)) return { status: 204 }
  known.add(verified.dedupKey)
  const { commitment } = verified.event
  console.log(
    `${commitment.id} ${commitment.previousState} -> ${commitment.currentState}: ${commitment.title}`
  )
  // Anything slow belongs after the answer: the ledger waits up to 10 seconds for it.
  return { status: 204 }
}

const server = createServer(async (request, response) => {
  const { status, text } = await handle(request).catch((error: unknown) => {
    console.error(error)
    // Anything but 2xx makes the ledger try again: after 30 s, 2 min, 10 min, 1 h and 6 h.
    return { status: 500, text: undefined }
  })
  response.writeHead(status, { "Content-Type": "text/plain" }).end(text)
})
server.listen(Number(PORT), "127.0.0.1", () => {
  console.log(`receiving on http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
})
