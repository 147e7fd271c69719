// What the harness says to the processes of this bench, and what they answer, over the IPC channel.
// Plain data. Times are milliseconds of the machine's monotonic clock, which all processes share.

/** The receiver is told what will come; it answers once, when the last of it has come. */
export interface Expectation {
  readonly count: number
  /** What the callbacks are signed with. */
  readonly secret: string
}

export interface Arrived {
  readonly firstAtMillis: number
  readonly lastAtMillis: number
  /** Callbacks whose `webhook-id` had come before. */
  readonly repeats: number
  /** Callbacks without a correct signature, of those that were checked. */
  readonly forgeries: number
}

/** Every callback outside of an expectation is reported at once. */
export interface Arrival {
  readonly atMillis: number
  readonly body: string
}

export type ReceiverMessage = { readonly arrived: Arrived } | { readonly arrival: Arrival }

export type PeerName = "graphile-worker" | "pg-boss"

export interface PeerStart {
  readonly peer: PeerName
  readonly databaseUrl: string
}

/** One delivery as a job of either queue. */
export interface DeliveryJob {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly payload: string
}

/** The sender without a queue is told what to deliver; asked for its progress, it answers. */
export type BareMessage = { readonly jobs: ReadonlyArray<DeliveryJob> } | "progress"

/** The queue of pg-boss and the task of graphile-worker. */
export const JOB_NAME = "deliver"

/** Of the receivers that never answer. */
export const HANGING_PATH = "/hanging/"

export const monotonicMillis = (): number => Number(process.hrtime.bigint()) / 1e6
