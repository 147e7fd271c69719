// The `webhooks` section of the document: what a receiver is sent, and what it should answer.
import { ANSWER_EXAMPLES } from "./answerExamples.ts"
import { type PathItem, schemaRef } from "./documentTypes.ts"

const DESCRIPTION = `Sent to every registered URL when a commitment moves from open to claimed, from claimed to closed, or from open to closed.

The receiver computes the HMAC-SHA256 of the raw body with the webhook's secret as key and compares it in constant time with the header X-Service-Signature. It answers with any 2xx status within 10 seconds; anything else, or no answer, is a failed attempt, which is repeated after 30 seconds, 2 minutes, 10 minutes, 1 hour and 6 hours. Receivers should be idempotent: commitment.id, event and timestamp together tell one event from another.`

const header = (
  name: string,
  required: boolean,
  description: string,
  value: { readonly pattern: string; readonly example: string }
) => ({
  name,
  in: "header" as const,
  required,
  description,
  schema: { type: "string" as const, pattern: value.pattern },
  example: value.example
})

const DIGEST = { pattern: "^sha256=[0-9a-f]{64}$", example: `sha256=${"0a1b2c3d".repeat(8)}` }

const HEADERS = [
  header(
    "X-Service-Signature",
    true,
    "sha256= and the HMAC-SHA256 of the raw body in lowercase hexadecimal.",
    DIGEST
  ),
  header(
    "X-Service-Signature-Previous",
    false,
    "The same with the secret before the last rotation, while both are good.",
    DIGEST
  ),
  header("webhook-id", true, "The event: the same on every attempt.", {
    pattern: "^evt_[0-9a-z]{26}$",
    example: "evt_01h455vb4pex5vsknk084sn02q"
  }),
  header("webhook-timestamp", true, "When this attempt began, in seconds since the epoch.", {
    pattern: "^[0-9]+$",
    example: "1795203822"
  }),
  header("webhook-signature", true, "Signatures as Standard Webhooks has them.", {
    pattern: "^v1,[0-9A-Za-z+/=]+( v1,[0-9A-Za-z+/=]+)*$",
    example: "v1,lKJU/uJ3VMoMBNgl8c7aZZjDU2hA3p0Yv9Gwb2e6yuk="
  }),
  header("Ledger-Attempt", true, "The number of this attempt, from 1.", {
    pattern: "^[1-9][0-9]*$",
    example: "1"
  })
]

export const callbackWebhooks = (): Record<string, PathItem> => ({
  commitmentStateChanged: {
    post: {
      operationId: "receiveCommitmentStateChanged",
      tags: ["Callbacks"],
      summary: "A commitment has changed its state",
      description: DESCRIPTION,
      // The receiver is not asked for a token of its own: the signature says who sent the callback.
      security: [],
      parameters: HEADERS,
      requestBody: {
        required: true,
        description: "The bytes that are signed; every retry sends the same ones.",
        content: {
          "application/json": {
            schema: schemaRef("CallbackPayload"),
            examples: ANSWER_EXAMPLES.CallbackPayload
          }
        }
      },
      responses: {
        "2XX": { description: "Received; the callback is not sent again." },
        "401": { description: "The signature does not match." },
        default: { description: "Not received; the callback is sent again later." }
      }
    }
  }
})

export const CALLBACK_TAG = {
  name: "Callbacks",
  description: "What the service sends to registered webhook URLs."
}
