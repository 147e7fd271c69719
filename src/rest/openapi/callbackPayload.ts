// The body of a webhook callback as the document shows it («Payload» in the spec). The service builds
// its bytes elsewhere; the names and types here are what receivers may rely on.
import { z } from "zod"
import { EVENT_TYPES, FILTER_STATES } from "../../domain/webhookFields.ts"

const timestamp = z.iso.datetime()

export const CallbackEvidence = z
  .object({
    type: z.string().meta({ description: "Such as progress, build or pr." }),
    label: z.string().optional(),
    payload: z
      .record(z.string(), z.unknown())
      .meta({ description: "Its fields depend on the type." }),
    capturedAt: timestamp.meta({ description: "When the operation that brought it was performed." })
  })
  .meta({ description: "One evidence item as callbacks show it." })

export const CallbackPayload = z
  .object({
    event: z.enum(EVENT_TYPES),
    timestamp: timestamp.meta({ description: "When the commitment changed its state." }),
    workspace: z.object({ id: z.guid(), name: z.string() }),
    commitment: z.object({
      id: z.string(),
      memoryId: z.string().meta({
        description:
          "The memory that the commitment was created from, else the first that was linked to it, else an empty string."
      }),
      title: z.string(),
      previousState: z.enum(["open", "claimed", "closed"]),
      currentState: z.enum(FILTER_STATES),
      result: z.enum(["pass", "fail"]).nullable(),
      tier: z
        .enum(["T1", "T2", "T3"])
        .nullable()
        .meta({ description: "The commitment's meta.tier, if it is one of these." }),
      evidence: z
        .array(CallbackEvidence)
        .meta({ description: "All evidence at the time of the event." }),
      createdAt: timestamp,
      closedAt: timestamp.nullable()
    })
  })
  .meta({
    description:
      "A commitment has changed its state. For deduplication, combine commitment.id, event and timestamp."
  })
export type CallbackPayload = z.infer<typeof CallbackPayload>
