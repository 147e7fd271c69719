// Examples of what the service answers and calls back: one small story, told by every read.
import type {
  Commitment,
  CommitmentListItem,
  Memory,
  MemoryListItem,
  OperationReceipt,
  StatusSnapshot
} from "../../domain/vocabulary.ts"
import type { CallbackPayload } from "./callbackPayload.ts"
import type { NamedExamples } from "./documentTypes.ts"
import { EXAMPLE_IDS, OPERATION_EXAMPLES } from "./operationExamples.ts"

const TIMES = {
  captured: "2026-11-20T09:58:12.104Z",
  triaged: "2026-11-20T10:01:47.530Z",
  committed: "2026-11-20T10:02:30.871Z",
  claimed: "2026-11-20T10:03:05.266Z",
  closed: "2026-11-20T10:15:30.123Z"
} as const

const { capture, claim, close, commit, triage } = OPERATION_EXAMPLES
const AGENT = "agent:claude"
const HUMAN = "human:jane"

const evidence = [
  {
    type: "test",
    label: "Import tests",
    body: "42 passed, 0 failed",
    payload: { command: "npm test", exitCode: 0, durationMs: 8120 }
  }
]

const commitmentItem: CommitmentListItem = {
  id: EXAMPLE_IDS.commitment,
  title: commit.title,
  body: "A line without content must not end the import.",
  state: "closed",
  owner: claim.owner,
  priority: "high",
  tags: ["import", "backend"],
  created_at: TIMES.committed,
  updated_at: TIMES.closed,
  meta: { tier: "T1" }
}

const commitment: Commitment = {
  ...commitmentItem,
  result: close.result,
  evidence,
  history: [
    {
      op_id: EXAMPLE_IDS.commitOperation,
      op: "commit",
      actor: HUMAN,
      timestamp: TIMES.committed
    },
    {
      op_id: EXAMPLE_IDS.claimOperation,
      op: "claim",
      actor: AGENT,
      timestamp: TIMES.claimed,
      owner: claim.owner
    },
    {
      op_id: EXAMPLE_IDS.closeOperation,
      op: "close",
      actor: AGENT,
      timestamp: TIMES.closed,
      result: close.result,
      summary: "Empty lines are skipped."
    }
  ],
  linked_memories: [{ id: EXAMPLE_IDS.memory, body: capture.body, kind: "bug-report" }]
}

const memoryItem: MemoryListItem = {
  id: EXAMPLE_IDS.memory,
  body: capture.body,
  kind: "bug-report",
  status: "committed",
  tags: ["import"],
  created_at: TIMES.captured,
  updated_at: TIMES.committed,
  meta: {}
}

const memory: Memory = {
  ...memoryItem,
  priority: "high",
  annotations: [
    {
      op_id: EXAMPLE_IDS.triageOperation,
      body: "Every second import is affected.",
      kind: "triage",
      actor: HUMAN,
      timestamp: TIMES.triaged
    }
  ],
  linked_commitments: [
    { id: EXAMPLE_IDS.commitment, title: commit.title, state: "closed", result: close.result }
  ],
  history: [
    {
      op_id: EXAMPLE_IDS.captureOperation,
      op: "capture",
      actor: AGENT,
      timestamp: TIMES.captured
    },
    {
      op_id: EXAMPLE_IDS.triageOperation,
      op: triage.op,
      actor: HUMAN,
      timestamp: TIMES.triaged,
      priority: "high"
    }
  ]
}

const status: StatusSnapshot = {
  commitments: { open: 4, claimed: 2, in_review: 1, closed: 9, reopened: 1 },
  memories: { total: 12, untriaged: 3, dismissed: 2, committed: 4, linked: 2 },
  ledger: { total_operations: 61, last_operation_at: TIMES.closed }
}

const emptyStatus: StatusSnapshot = {
  commitments: { open: 0, claimed: 0, in_review: 0, closed: 0, reopened: 0 },
  memories: { total: 0, untriaged: 0, dismissed: 0, committed: 0, linked: 0 },
  ledger: { total_operations: 0, last_operation_at: null }
}

const callback: CallbackPayload = {
  event: "commitment.state_changed",
  timestamp: TIMES.closed,
  workspace: { id: EXAMPLE_IDS.workspace, name: "default" },
  commitment: {
    id: EXAMPLE_IDS.commitment,
    memoryId: EXAMPLE_IDS.memory,
    title: commit.title,
    previousState: "claimed",
    currentState: "closed",
    result: close.result,
    tier: "T1",
    evidence: [
      {
        type: "test",
        label: "Import tests",
        payload: { command: "npm test", exitCode: 0, durationMs: 8120 },
        capturedAt: TIMES.closed
      }
    ],
    createdAt: TIMES.committed,
    closedAt: TIMES.closed
  }
}

const claimCallback: CallbackPayload = {
  ...callback,
  timestamp: TIMES.claimed,
  commitment: {
    ...callback.commitment,
    previousState: "open",
    currentState: "claimed",
    result: null,
    evidence: [],
    closedAt: null
  }
}

const receipt = (op_id: string, record_id: string): OperationReceipt => ({
  success: true,
  op_id,
  record_id
})
const success = <Data>(data: Data) => ({ success: true, data })
const page = <Item>(items: ReadonlyArray<Item>, total: number) => ({
  ...success(items),
  pagination: { limit: 50, offset: 0, total }
})

export const LEDGER_TIME_EXAMPLE = TIMES.closed

export const ANSWER_EXAMPLES = {
  OperationReceipt: {
    commitment: {
      summary: "An operation on a commitment",
      value: receipt(EXAMPLE_IDS.claimOperation, EXAMPLE_IDS.commitment)
    },
    memory: {
      summary: "An operation on a memory",
      value: receipt(EXAMPLE_IDS.captureOperation, EXAMPLE_IDS.memory)
    },
    webhook: {
      summary: "A registered webhook",
      value: receipt(EXAMPLE_IDS.linkOperation, EXAMPLE_IDS.webhook)
    }
  },
  StatusAnswer: {
    busy: { summary: "A workspace with work in it", value: success(status) },
    empty: { summary: "Before the first operation", value: success(emptyStatus) }
  },
  CommitmentPage: {
    page: { summary: "The only page", value: page([commitmentItem], 1) },
    empty: { summary: "Nothing matches", value: page([], 0) }
  },
  CommitmentAnswer: { closed: { summary: "A closed commitment", value: success(commitment) } },
  MemoryPage: {
    page: { summary: "The only page", value: page([memoryItem], 1) },
    empty: { summary: "Nothing matches", value: page([], 0) }
  },
  MemoryAnswer: {
    committed: { summary: "A memory with a commitment", value: success(memory) }
  },
  CallbackPayload: {
    claimed: { summary: "Claimed", value: claimCallback },
    closed: { summary: "Closed", value: callback }
  }
} as const satisfies Record<string, NamedExamples>
