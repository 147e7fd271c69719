// `npm run prove`: the long forms of the tests (test/prove), for a release or a doubt. Takes about ten
// minutes; `PROVE_…` variables change the numbers. Ends with one line that counts.
import { startVitest } from "vitest/node"

delete process.env.NODE_ENV
delete process.env.DATABASE_URL
const started = performance.now()
const vitest = await startVitest("test", process.argv.slice(2), {
  config: "test/prove/vitest.config.ts",
  run: true,
  watch: false
})
const modules = vitest.state.getTestModules()
const outcomes = modules.flatMap((module) =>
  Array.from(module.children.allTests(), (test) => test.result().state)
)
// A file that could not be loaded, or an error outside of every test, fails the run too.
const brokenFiles = modules.filter((module) => !module.ok() && module.children.size === 0).length
const strayErrors = vitest.state.getUnhandledErrors().length
await vitest.close()
const count = (state) => outcomes.filter((outcome) => outcome === state).length
const failed = count("failed") + brokenFiles + strayErrors
const minutes = ((performance.now() - started) / 60_000).toFixed(1)
console.log(`\n${count("passed")} passed, ${failed} failed (${minutes} minutes)`)
process.exit(outcomes.length > 0 && failed === 0 ? 0 : 1)
