// What those who run the service can see of its requests. Names are Prometheus names.
import type { IncomingMessage, ServerResponse } from "node:http"
import { Context, Metric } from "effect"

const requests = Metric.counter("ledger_http_requests_total", {
  description:
    "Requests by method and status; status «none» is a caller that left before the answer.",
  incremental: true
})

const seconds = Metric.histogram("ledger_http_request_seconds", {
  description: "From the head of a request to the end of its answer.",
  boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
})

/** Metrics of the process: there is no fiber here that could have others. */
const PROCESS = Context.empty()
const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "HEAD", "OPTIONS"])
const byLabels = new Map<string, typeof requests>()

/** Whatever callers invent, the number of series is small. */
const counterOf = (method: string | undefined, status: string) => {
  const known = method !== undefined && METHODS.has(method) ? method : "other"
  const key = `${known} ${status}`
  const counter = byLabels.get(key) ?? Metric.withAttributes(requests, { method: known, status })
  byLabels.set(key, counter)
  return counter
}

/** Counts the request when its answer has been sent, or its caller has left. */
export const recordRequest = (request: IncomingMessage, response: ServerResponse): void => {
  const start = performance.now()
  response.once("close", () => {
    const status = response.writableFinished ? String(response.statusCode) : "none"
    counterOf(request.method, status).updateUnsafe(1, PROCESS)
    seconds.updateUnsafe((performance.now() - start) / 1_000, PROCESS)
  })
}
