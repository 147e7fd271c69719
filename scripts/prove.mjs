// `npm run prove`: the long forms of the tests (test/prove), for a release or a doubt. Takes about ten
// minutes; `PROVE_…` variables change the numbers. Ends with one line that counts.
import { countTests } from "./countTests.mjs"

await countTests(process.argv.slice(2), { config: "test/prove/vitest.config.ts" })
