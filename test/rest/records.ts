// Records in every state that the spec's tables name, made by the operations that lead there. Used by
// the tests in this folder.
import type { TestService } from "../support/service.ts"

type Maker = Pick<TestService, "record">

const claim = { op: "claim", owner: "agent:one" }
const submit = { op: "submit" }
const approve = { op: "approve", body: "well done" }
const close = { op: "close", result: "fail", evidence: [{ type: "log", body: "given at close" }] }
const reopen = { op: "reopen" }

/** What is done to a fresh commitment to bring it to each state. */
const COMMITMENT_PATHS = {
  open: [],
  claimed: [claim],
  in_review: [claim, submit],
  "closed by close": [claim, close],
  "closed by approve": [claim, submit, approve],
  "closed by both": [claim, submit, approve, close],
  "open after reopen": [claim, close, reopen]
} as const satisfies Record<string, ReadonlyArray<object>>

export type CommitmentSituation = keyof typeof COMMITMENT_PATHS

/** The state that the service shows for it. */
export const stateOf = (situation: CommitmentSituation): string => {
  if (situation.startsWith("closed")) return "closed"
  return situation.startsWith("open") ? "open" : situation
}

export const commitmentIn = async (
  service: Maker,
  situation: CommitmentSituation = "open"
): Promise<string> => {
  const id = await service.record({ op: "commit", title: `a commitment, ${situation}` })
  for (const operation of COMMITMENT_PATHS[situation]) await service.record({ ...operation, id })
  return id
}

export type MemoryStatus = "untriaged" | "triaged" | "linked" | "committed" | "dismissed"

export const memoryIn = async (
  service: Maker,
  status: MemoryStatus = "untriaged"
): Promise<string> => {
  const id = await service.record({ op: "capture", body: `a memory, ${status}` })
  switch (status) {
    case "untriaged":
      break
    case "triaged":
      await service.record({ op: "triage", id })
      break
    case "linked":
      await service.record({ op: "link", id, target: await commitmentIn(service) })
      break
    case "committed":
      await service.record({ op: "commit", title: "from a memory", source: id })
      break
    case "dismissed":
      await service.record({ op: "dismiss", id })
  }
  return id
}

export const UNKNOWN_COMMITMENT = "cmt_01h455vb4pex5vsknk084sn02q"
export const UNKNOWN_MEMORY = "mem_01h455vb4pex5vsknk084sn02q"
