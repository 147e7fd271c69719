// A request body, received to its end or to the limit: JSON in strict UTF-8, nothing else (D11, D12).
import type { IncomingMessage, ServerResponse } from "node:http"
import { InvalidRequest, unavailable } from "../domain/errors.ts"
import { makeBodyRoom, type Place } from "./bodyRoom.ts"

const invalid = (message: string) => new InvalidRequest({ message })

export interface RequestBody {
  /**
   * The whole body. Rejects with `INVALID_REQUEST`: content type, content coding, size, encoding, in
   * order; with `SERVER_ERROR` when other bodies took all the room there is.
   */
  readonly text: () => Promise<string>
}

export type ReceiveBody = (request: IncomingMessage, response: ServerResponse) => RequestBody

/**
 * The receiver of one server: bodies of at most so many bytes, and one room for all of them. It is given
 * every request at once, before anybody knows who asks: of a body that nobody listens to Node keeps some
 * hundred bytes for each piece, and a piece may be one byte.
 */
export const makeBodyReceiver = (maxBytes: number): ReceiveBody => {
  const enter = makeBodyRoom()
  return (request, response) =>
    announcesBody(request)
      ? receive(request, response, enter(), maxBytes)
      : { text: async () => noBody(request) }
}

const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined

const ENDED_EARLY = invalid("The request body ended early.")
const NO_ROOM = unavailable("The service is reading as many request bodies as it has room for.")

const JSON_CONTENT_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

const requireJson = ({ headers }: IncomingMessage) => {
  if (!JSON_CONTENT_TYPE.test(headers["content-type"]?.trim() ?? "")) {
    throw invalid("The header Content-Type must be application/json (UTF-8).")
  }
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  if (coding !== "identity") throw invalid("Content-Encoding is not supported.")
}

const noBody = (request: IncomingMessage) => {
  requireJson(request)
  return decode(Buffer.of())
}

const tooLarge = (maxBytes: number) =>
  invalid(`The request body is larger than the limit of ${maxBytes} bytes.`)

/** Undefined: the body comes in chunks. */
const declaredLength = ({ headers }: IncomingMessage): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined

/** The first room of a body that does not say how long it is; it doubles as the body grows. */
const FIRST_BYTES = 16 * 1024

/** Keeps the bytes in one buffer, as large as their place. What is refused is let past. */
const receive = (
  request: IncomingMessage,
  response: ServerResponse,
  place: Place,
  maxBytes: number
): RequestBody => {
  const declared = declaredLength(request)
  const whole = Promise.withResolvers<Buffer>()
  let state: "coming" | "complete" | "refused" = "coming"
  let bytes: Buffer = Buffer.of()
  let size = 0
  const refuse = (error: Error) => {
    state = "refused"
    bytes = Buffer.of()
    place.leave()
    whole.reject(error)
  }
  const grow = (needed: number): boolean => {
    const doubled = Math.min(maxBytes, Math.max(FIRST_BYTES, bytes.length * 2, needed))
    const capacity = declared ?? doubled
    if (!place.reserve(capacity)) return false
    const larger = Buffer.allocUnsafe(capacity)
    bytes.copy(larger, 0, 0, size)
    bytes = larger
    return true
  }
  request.on("data", (chunk: Buffer) => {
    if (state === "refused") return
    const needed = size + chunk.length
    if (needed > maxBytes) return refuse(tooLarge(maxBytes))
    if (chunk.length === declared) bytes = chunk
    else if (needed > bytes.length && !grow(needed)) return refuse(NO_ROOM)
    else chunk.copy(bytes, size)
    size = needed
  })
  request.once("end", () => {
    if (state === "coming") state = "complete"
    whole.resolve(bytes.subarray(0, size))
  })
  request.once("close", () => {
    if (state === "coming") refuse(ENDED_EARLY)
  })
  // Whether it was asked for or not: from here on nobody reads it.
  response.once("close", place.leave)
  // A refusal that nobody asks about, such as after a 401, is none of anybody's business.
  whole.promise.catch(() => {})
  // A body that is let in is received to its end: its length is taken before its first byte.
  if ((declared ?? 0) > maxBytes) refuse(tooLarge(maxBytes))
  else if (!place.reserve(declared ?? 0)) refuse(NO_ROOM)
  return {
    text: async () => {
      requireJson(request)
      if (request.headers.expect !== undefined && state === "coming") response.writeContinue()
      const text = decode(await whole.promise)
      place.leave()
      return text
    }
  }
}

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
