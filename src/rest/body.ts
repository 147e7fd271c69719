// A request body, read to its end or to the limit: JSON in strict UTF-8, nothing else (D11, D12).
import type { IncomingMessage, ServerResponse } from "node:http"
import { InvalidRequest } from "../domain/errors.ts"

const invalid = (message: string) => new InvalidRequest({ message })

/** Rejects with `INVALID_REQUEST`: content type, content coding, size, encoding, JSON, in order. */
export const readBodyText = async (
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number
): Promise<string> => {
  requireJson(request)
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  if (request.headers.expect !== undefined) response.writeContinue()
  return readBytes(request, maxBytes).then(decode)
}

const JSON_CONTENT_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

const requireJson = ({ headers }: IncomingMessage) => {
  if (!JSON_CONTENT_TYPE.test(headers["content-type"]?.trim() ?? "")) {
    throw invalid("The header Content-Type must be application/json (UTF-8).")
  }
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (coding !== "identity") throw invalid("Content-Encoding is not supported.")
}

const tooLarge = (maxBytes: number) =>
  invalid(`The request body is larger than the limit of ${maxBytes} bytes.`)

const readBytes = (request: IncomingMessage, maxBytes: number) =>
  new Promise<Buffer>((resolve, reject) => {
    const chunks: Array<Buffer> = []
    let size = 0
    request.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) {
        request.pause()
        reject(tooLarge(maxBytes))
      } else chunks.push(chunk)
    })
    request.on("end", () =>
      resolve(chunks.length === 1 ? (chunks[0] ?? Buffer.of()) : Buffer.concat(chunks))
    )
    request.on("error", () => reject(invalid("The request body ended early.")))
  })

/** A byte order mark is kept, so that JSON.parse refuses it: JSON texts have none. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const decode = (bytes: Buffer): string => {
  if (bytes.length === 0) throw invalid("The request body is empty; a JSON object is required.")
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid(NOT_JSON)
  }
}

const NOT_JSON = "The request body is not valid JSON in UTF-8."

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid(NOT_JSON)
  }
}
