// What a bench run measures, for how long, and where its figures go: read from the command line.
import { parseArgs } from "node:util"

export interface Window {
  /** Runs of each subject, in turn. The median counts. */
  readonly rounds: number
  readonly seconds: number
}

export interface Plan {
  readonly connections: number
  readonly warmUpSeconds: number
  readonly mixed: Window
  readonly spread: Window
  readonly single: Window
  readonly reads: Window
  readonly pgbench: Window
  /** Records of the large workspace; undefined: that measure is left out. */
  readonly largeRecords: number | undefined
  readonly jsonFile: string | undefined
}

const CONNECTIONS = 64
const LARGE_RECORDS = 1_000_000

const DEFAULT: Omit<Plan, "largeRecords" | "jsonFile"> = {
  connections: CONNECTIONS,
  warmUpSeconds: 4,
  mixed: { rounds: 5, seconds: 5 },
  spread: { rounds: 3, seconds: 3 },
  single: { rounds: 5, seconds: 2 },
  reads: { rounds: 3, seconds: 3 },
  pgbench: { rounds: 3, seconds: 4 }
}

const QUICK: typeof DEFAULT = {
  connections: CONNECTIONS,
  warmUpSeconds: 1.5,
  mixed: { rounds: 3, seconds: 2 },
  spread: { rounds: 1, seconds: 1.5 },
  single: { rounds: 2, seconds: 1 },
  reads: { rounds: 2, seconds: 1 },
  pgbench: { rounds: 1, seconds: 2 }
}

export const USAGE = `npm run bench [-- options]
npm run bench -- deliveries [--quick] [--json FILE]

Measures the service against a hand-written Fastify + pg service, both on one embedded PostgreSQL
with durable commits, and prints one table. Takes under five minutes. With «deliveries»: the delivery
of webhooks beside graphile-worker, pg-boss and the same requests without a queue, and what endpoints
that hang cost the others; in two minutes (with --quick in one).

  --quick        shorter runs: under a minute, less exact
  --large        also compares 1,000,000 records with 1,000 (a few minutes more)
  --json FILE    also writes the figures to FILE
  --help         this text`

/** The plan, or undefined when help was asked for. Throws on options that do not exist. */
export const readPlan = (commandLine: ReadonlyArray<string>): Plan | undefined => {
  const { values } = parseArgs({
    args: [...commandLine],
    options: {
      quick: { type: "boolean", default: false },
      large: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return undefined
  return {
    ...(values.quick ? QUICK : DEFAULT),
    largeRecords: values.large ? LARGE_RECORDS : undefined,
    jsonFile: values.json
  }
}
