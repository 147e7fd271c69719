// One example of every operation, as a caller would send it. The types hold them to the operations;
// the tests hold them to the document's schemas and perform them on a running service.
import type { OperationInput, OperationName } from "../../domain/operations.ts"
import type { NamedExamples } from "./documentTypes.ts"

export const EXAMPLE_IDS = {
  workspace: "0190c0de-0000-7000-8000-000000000001",
  memory: "mem_01kaf9z3q8f6vt2d5h7jw0r4xn",
  commitment: "cmt_01kafa1m5yezbs9c3g8kt6p2wq",
  webhook: "whk_01kafa7x0dfm48r5v2n9qj3hsz",
  captureOperation: "op_01kaf9z3q8f6vt2d5h7k1b8eyg",
  commitOperation: "op_01kafa1m5yezbs9c3g8nd4x7rv",
  claimOperation: "op_01kafa2p9tfc0s6w4m1zq8h5jk",
  triageOperation: "op_01kafa0b7wed8t5n3y6gv9c2qs",
  linkOperation: "op_01kafa4r2nf3kx7d9p0jw5t8me",
  closeOperation: "op_01kafa6v4hegy2b8s5q1m7r3zd"
} as const

const { commitment, memory, workspace } = EXAMPLE_IDS

export const OPERATION_EXAMPLES: {
  readonly [Name in OperationName]: Extract<OperationInput, { op: Name }>
} = {
  capture: {
    op: "capture",
    body: "The import stops at the first empty line.",
    kind: "bug-report",
    tags: ["import"]
  },
  commit: {
    op: "commit",
    title: "Skip empty lines in the import",
    body: "A line without content must not end the import.",
    tags: ["import", "backend"],
    priority: "high",
    source: memory
  },
  claim: { op: "claim", id: commitment, owner: "agent:claude" },
  release: { op: "release", id: commitment, reason: "Blocked by the parser's rewrite." },
  close: {
    op: "close",
    id: commitment,
    result: "pass",
    evidence: [
      {
        type: "test",
        label: "Import tests",
        body: "42 passed, 0 failed",
        payload: { command: "npm test", exitCode: 0, durationMs: 8120 }
      }
    ],
    summary: "Empty lines are skipped."
  },
  annotate: {
    op: "annotate",
    id: commitment,
    body: "The parser treats an empty line as the end of the file.",
    kind: "progress"
  },
  submit: {
    op: "submit",
    id: commitment,
    body: "Ready for review.",
    evidence: [{ type: "pr", url: "https://example.org/pull/17" }]
  },
  approve: { op: "approve", id: commitment, body: "Clear and well tested." },
  reopen: { op: "reopen", id: commitment, reason: "It fails again for lines of spaces." },
  link: { op: "link", id: memory, target: commitment },
  dismiss: { op: "dismiss", id: memory, reason: "Could not be reproduced." },
  triage: {
    op: "triage",
    id: memory,
    priority: "high",
    kind: "bug-report",
    body: "Every second import is affected."
  },
  "webhook.register": {
    op: "webhook.register",
    workspaceId: workspace,
    url: "https://example.org/ledger-events",
    events: ["commitment.state_changed"],
    secret: "a-long-random-text-that-only-both-sides-know"
  }
}

const SUMMARIES: Readonly<Record<OperationName, string>> = {
  capture: "Capture an observation",
  commit: "Create a commitment from a memory",
  claim: "Claim a commitment",
  release: "Release a commitment",
  close: "Close with a result and evidence",
  annotate: "Put a note on a commitment",
  submit: "Submit for review",
  approve: "Approve what was submitted",
  reopen: "Reopen a closed commitment",
  link: "Link a memory to a commitment",
  dismiss: "Dismiss a memory",
  triage: "Triage a memory",
  "webhook.register": "Register a webhook"
}

export const operationExamples = (): NamedExamples =>
  Object.fromEntries(
    Object.entries(OPERATION_EXAMPLES).map(([op, value]) => [
      op,
      { summary: SUMMARIES[op as OperationName], value }
    ])
  )
