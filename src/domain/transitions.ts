// The spec's two state tables and its callback moves, as data, in the spec's order. Whoever reviews
// the rules compares these tables with the specification; decide* only looks things up here.
import type { CommitmentState, MemoryStatus } from "./vocabulary.ts"

interface CommitmentTransition {
  readonly from: ReadonlyArray<CommitmentState>
  readonly to: CommitmentState
}

/** Where each operation on a commitment is accepted, and where it leads (spec, and D1 to D3). */
export const COMMITMENT_TRANSITIONS = {
  claim: { from: ["open"], to: "claimed" },
  release: { from: ["claimed"], to: "open" },
  submit: { from: ["claimed"], to: "in_review" },
  reopen: { from: ["closed"], to: "open" },
  close: { from: ["open", "claimed", "in_review"], to: "closed" },
  approve: { from: ["in_review"], to: "closed" }
} as const satisfies Record<string, CommitmentTransition>

export type TransitionOperation = keyof typeof COMMITMENT_TRANSITIONS

/** Where each operation on a memory leads, from each status (spec, and D6). */
export const MEMORY_TRANSITIONS = {
  triage: {
    untriaged: "triaged",
    triaged: "triaged",
    linked: "linked",
    committed: "committed",
    dismissed: "triaged"
  },
  link: {
    untriaged: "linked",
    triaged: "linked",
    linked: "linked",
    committed: "linked",
    dismissed: "linked"
  },
  dismiss: {
    untriaged: "dismissed",
    triaged: "dismissed",
    linked: "dismissed",
    committed: "dismissed",
    dismissed: "dismissed"
  }
} as const satisfies Record<string, Record<MemoryStatus, MemoryStatus>>

export type MemoryTransitionOperation = keyof typeof MEMORY_TRANSITIONS

/** «Callbacks are sent only for these moves: open to claimed, claimed to closed, open to closed.» */
const CALLBACK_MOVES: ReadonlySet<string> = new Set([
  "open>claimed",
  "claimed>closed",
  "open>closed"
])

export const sendsCallback = (from: CommitmentState, to: CommitmentState): boolean =>
  CALLBACK_MOVES.has(`${from}>${to}`)
