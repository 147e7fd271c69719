// Which receivers this service may send to: what LEDGER_WEBHOOK_ALLOW lets through the private-network
// guard. Checked at registration and again at every attempt.
import { Context } from "effect"
import type { AllowList } from "./receiverAddress.ts"

/** Nothing private, unless the program says otherwise. */
export const ReceiverPolicy = Context.Reference<AllowList>(
  "workspace-ledger/domain/ReceiverPolicy",
  { defaultValue: () => [] }
)
