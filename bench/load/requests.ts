// The requests of each workload as the bytes that are sent. All text is ASCII.

import type { Reply } from "./connection.ts"
import type { Access, Workload } from "./job.ts"

export interface RequestSource {
  /** The next request, given the answer to the last one. */
  readonly next: (last: Reply | undefined) => string
  /** The last commitment that was made, if any. */
  readonly commitmentId: () => string | undefined
}

export const makeRequests = (
  workload: Workload,
  host: string,
  access: Access,
  index: number
): RequestSource => {
  const headers = `Host: ${host}\r\nX-Proxy-Token: ${access.token}\r\nX-Workspace-Id: ${access.workspaceId}\r\n`
  return workload.kind === "mixed" ? mixed(headers, index) : gets(headers, workload.paths, index)
}

const gets = (headers: string, paths: ReadonlyArray<string>, index: number): RequestSource => {
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\n${headers}\r\n`)
  let count = index
  return {
    next: () => requests[count++ % requests.length] ?? "",
    commitmentId: () => undefined
  }
}

const RECORD_ID = /"record_id":"([^"]+)"/

/** A piece of everyday work: something is noticed, becomes work, is taken and is done. */
const mixed = (headers: string, index: number): RequestSource => {
  const post = (operation: object) => {
    const body = JSON.stringify(operation)
    return `POST /ops HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  }
  // Half of the connections begin with the second operation, so that the mix is even at all times.
  let step = index % 2
  let round = 0
  let commitment: string | undefined
  return {
    next: (last) => {
      switch (step++ % 4) {
        case 0:
          return post(capture(index, round))
        case 1:
          return post(commit(index, round))
        case 2:
          commitment = RECORD_ID.exec(last?.body ?? "")?.[1] ?? ""
          return post({ op: "claim", id: commitment, owner: `agent:worker-${index}` })
        default:
          round += 1
          return post(close(commitment ?? "", round))
      }
    },
    commitmentId: () => commitment
  }
}

const capture = (index: number, round: number) => ({
  op: "capture",
  body: `The total stays empty after a coupon is removed from the cart (report ${index}-${round}).`,
  kind: "bug-report",
  tags: ["checkout", "web"]
})

const commit = (index: number, round: number) => ({
  op: "commit",
  title: `Recompute the total when a coupon goes (${index}-${round})`,
  body: "The cart keeps the discounted total in its cache. It must be computed again on removal.",
  tags: ["checkout"],
  priority: "high"
})

const close = (id: string, round: number) => ({
  op: "close",
  id,
  result: "pass",
  evidence: [
    { type: "test", url: `https://ci.example.com/runs/${round}`, body: "42 passed, 0 failed" }
  ],
  summary: "The total is computed on every change of the cart."
})
