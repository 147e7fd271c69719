// Runs vitest and ends the process with one line that counts the tests. Used by test.mjs and prove.mjs.
import { startVitest } from "vitest/node"

/** A file that could not be loaded, or an error outside of every test, fails the run too. */
export const countTests = async (filters, options = {}) => {
  // The settings of whoever runs the tests are not the tests'.
  delete process.env.NODE_ENV
  delete process.env.DATABASE_URL
  const vitest = await startVitest("test", filters, { run: true, watch: false, ...options })
  const modules = vitest.state.getTestModules()
  const outcomes = modules.flatMap((module) =>
    Array.from(module.children.allTests(), (test) => test.result().state)
  )
  const brokenFiles = modules.filter((module) => !module.ok() && module.children.size === 0).length
  const strayErrors = vitest.state.getUnhandledErrors().length
  await vitest.close()
  const count = (state) => outcomes.filter((outcome) => outcome === state).length
  const failed = count("failed") + brokenFiles + strayErrors
  console.log(`\n${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped`)
  process.exit(outcomes.length > 0 && failed === 0 ? 0 : 1)
}
