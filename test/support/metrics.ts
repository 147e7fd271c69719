// /metrics of a test's service, line by line.
import type { TestService } from "./service.ts"

/** The value of one line, such as `ledger_deliveries_pending` or `name{label="value"}`; 0 if it is not there. */
export const readMetric = async (
  { operationsUrl }: Pick<TestService, "operationsUrl">,
  line: string
): Promise<number> => {
  const text = await (await fetch(`${operationsUrl}/metrics`)).text()
  const found = text.split("\n").find((one) => one.startsWith(`${line} `))
  return found === undefined ? 0 : Number(found.slice(line.length))
}
