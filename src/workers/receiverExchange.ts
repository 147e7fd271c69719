// One request and what comes back of it, as far as it is wanted: the status and the first 16 KiB of
// the body. Called by sendWebhook.ts, which sets the deadline.
import { Effect } from "effect"
import type { Agent, Dispatcher } from "undici"
import { type ReceiverFailure, ReceiverUnreachable, wordsOf } from "./guardedAgent.ts"

export interface AttemptRequest {
  readonly url: string
  readonly body: string
  readonly headers: Record<string, string>
}

/**
 * Why an attempt failed. Beside those of the connection (see `ReceiverFailure`):
 * - `status`: the answer is complete and neither 2xx nor 3xx;
 * - `redirect`: the answer is 3xx; redirects are not followed;
 * - `timeout`: the deadline came before the answer was complete;
 * - `reset`: the connection ended before the answer was complete;
 * - `protocol`: what came is not HTTP, or more of it than is read: headers over 16 KiB, over 20 `1xx`.
 */
export type FailureClass =
  | ReceiverFailure
  | "status"
  | "redirect"
  | "timeout"
  | "reset"
  | "protocol"

export interface Answer {
  /** Of the answer, if its status line came, also when the attempt failed after that. */
  readonly status: number | null
  /** Null: the receiver answered 2xx. */
  readonly failure: FailureClass | null
  /** The first bytes of the answer: at most 16 KiB of UTF-8 that PostgreSQL can store. */
  readonly responseText: string
  /** What went wrong, in the words of the layer where it did; null if nothing, or only the status. */
  readonly detail: string | null
}

const KEPT_BYTES = 16 * 1024
const INFORMATIONAL_ANSWERS = 20

/** A request that ends itself before its answer does: because that is enough, or because it must. */
class Stopped extends Error {
  readonly failure: FailureClass | null
  constructor(failure: FailureClass | null, message: string) {
    super(message)
    this.failure = failure
  }
}

/** Where a request goes, as undici wants it. */
export interface Destination {
  readonly origin: string
  readonly path: string
}

/**
 * Sends the request, and judges what has come of the answer when it ends or the deadline comes: real
 * time, as sockets live in it. Interrupting aborts the request and closes its connection.
 */
export const exchange = (
  agent: Agent,
  { origin, path }: Destination,
  { body, headers }: Omit<AttemptRequest, "url">,
  timeoutMillis: number
): Effect.Effect<Answer> =>
  Effect.callback((resume) => {
    const handler = new AnswerHandler((error) => {
      clearTimeout(deadline)
      resume(Effect.succeed(judge(handler, error)))
    })
    const deadline = setTimeout(() => {
      handler.stop(new Stopped("timeout", `no complete answer within ${timeoutMillis} ms`))
    }, timeoutMillis)
    agent.dispatch({ origin, path, method: "POST", headers, body }, handler)
    return Effect.sync(() => handler.stop(new Stopped("timeout", "interrupted")))
  })

/** Reads an answer, and stops reading where nothing more is wanted. Nothing is decompressed. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  status: number | null = null
  private readonly ended: (error: Error | undefined) => void
  private readonly chunks: Array<Buffer> = []
  private bytes = 0
  private informational = 0
  private controller: Dispatcher.DispatchController | undefined
  private stopped: Stopped | undefined

  /** `ended` may be called again, which then says nothing new. */
  constructor(ended: (error: Error | undefined) => void) {
    this.ended = ended
  }

  /** Ends it now, at whatever point it is. */
  stop(reason: Stopped) {
    this.stopped = reason
    this.ended(reason)
    this.controller?.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController) {
    this.controller = controller
    // Stopped while the connection was being made: nothing of the request has been written.
    if (this.stopped !== undefined) controller.abort(this.stopped)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number) {
    if (status >= 200) this.status = status
    else if (++this.informational > INFORMATIONAL_ANSWERS) {
      controller.abort(
        new Stopped("protocol", `more than ${INFORMATIONAL_ANSWERS} informational answers`)
      )
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer) {
    this.chunks.push(chunk.subarray(0, KEPT_BYTES - this.bytes))
    this.bytes += chunk.length
    if (this.bytes >= KEPT_BYTES) controller.abort(new Stopped(null, "enough has been read"))
  }

  onResponseEnd() {
    this.ended(undefined)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error) {
    this.ended(error)
  }

  text(): string {
    return this.bytes === 0 ? "" : storableText(this.chunks, this.bytes >= KEPT_BYTES)
  }
}

const UTF8 = new TextDecoder()

/** PostgreSQL stores no NUL. A character that the cut went through is left out. */
const storableText = (chunks: ReadonlyArray<Buffer>, isCut: boolean): string => {
  const bytes = Buffer.concat(chunks)
  const decoded = isCut ? new TextDecoder().decode(bytes, { stream: true }) : UTF8.decode(bytes)
  const text = decoded.replaceAll("\0", "\uFFFD")
  // Each byte that is no UTF-8 became a replacement character of three.
  if (bytes.length * 3 <= KEPT_BYTES) return text
  const encoded = Buffer.from(text, "utf8")
  return encoded.length <= KEPT_BYTES
    ? text
    : new TextDecoder().decode(encoded.subarray(0, KEPT_BYTES), { stream: true })
}

const judge = (handler: AnswerHandler, error: Error | undefined): Answer => {
  const { status } = handler
  const failure = (error === undefined ? null : failureOf(error)) ?? failureOfStatus(status)
  const detail = error === undefined || isEnough(error) ? null : wordsOf(error)
  return { status, failure, responseText: handler.text(), detail }
}

/** An answer of which 16 KiB have been read is judged by its status, like a complete one. */
const isEnough = (error: Error) => error instanceof Stopped && error.failure === null

const failureOfStatus = (status: number | null): FailureClass | null => {
  if (status === null) return "reset"
  if (status < 300) return null
  return status < 400 ? "redirect" : "status"
}

/** Errors of undici and of Node's sockets have a `code`; those of the parser begin with HPE. */
const failureOf = (error: Error): FailureClass | null => {
  if (error instanceof Stopped) return error.failure
  if (error instanceof ReceiverUnreachable) return error.failure
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  if (code === "UND_ERR_SOCKET" && /^bad (?:response|upgrade)$/.test(error.message)) {
    return "protocol"
  }
  if (code === "UND_ERR_SOCKET" || code === "ECONNRESET" || code === "EPIPE") return "reset"
  if (code.startsWith("ERR_SSL") || code.startsWith("ERR_TLS")) return "tls"
  return "protocol"
}
