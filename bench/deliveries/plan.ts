// What `npm run bench deliveries` measures and how much of it: read from the command line.
import { parseArgs } from "node:util"

export interface DeliveriesPlan {
  /** Receivers that the backlog is spread over. */
  readonly endpoints: number
  /** Deliveries of one run. */
  readonly backlog: number
  /** Deliveries of the run before the first that counts. */
  readonly warmUp: number
  /** Runs of each sender, in turn. The median counts. */
  readonly rounds: number
  /** Moves made one after another for the time from commit to arrival. */
  readonly moves: number
  readonly jsonFile: string | undefined
}

const DEFAULT = { endpoints: 16, backlog: 12_000, warmUp: 10_000, rounds: 5, moves: 1_000 }
const QUICK: typeof DEFAULT = {
  endpoints: 16,
  backlog: 4_000,
  warmUp: 4_000,
  rounds: 3,
  moves: 300
}

/** The plan, or undefined when help was asked for. Throws on options that do not exist. */
export const readDeliveriesPlan = (
  commandLine: ReadonlyArray<string>
): DeliveriesPlan | undefined => {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return undefined
  return { ...(values.quick ? QUICK : DEFAULT), jsonFile: values.json }
}
