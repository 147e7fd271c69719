// What the harness asks of the load generator's process, and what it answers. Plain data.

/** Who sends requests: each connection takes one of these in turn. */
export interface Access {
  readonly workspaceId: string
  readonly token: string
}

export type Workload =
  /** `POST /ops`: capture, commit, claim and close, over and over, each connection its own records. */
  | { readonly kind: "mixed" }
  /** GET of these paths in turn. */
  | { readonly kind: "get"; readonly paths: ReadonlyArray<string> }

export interface Job {
  readonly baseUrl: string
  readonly accesses: ReadonlyArray<Access>
  readonly workload: Workload
  readonly connections: number
  readonly seconds: number
}

export interface Outcome {
  readonly requests: number
  /** Answers that were not 200. A run with any is no measurement. */
  readonly failures: number
  readonly firstFailure: string | undefined
  readonly seconds: number
  readonly p50Millis: number
  readonly p99Millis: number
  /** Ids of the last commitments that were made, one for each connection that made any. */
  readonly commitmentIds: ReadonlyArray<string>
}
