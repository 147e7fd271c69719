// `npm test`: types, lint, then every test. Ends with one line that counts the tests; arguments are
// passed on to vitest (`npm test -- test/rest`).
import { spawnSync } from "node:child_process"
import { startVitest } from "vitest/node"

const step = (title, file, ...args) => {
  console.log(`\n${title}`)
  const { status } = spawnSync(process.execPath, [file, ...args], { stdio: "inherit" })
  if (status !== 0) {
    console.error(`${title}: failed`)
    process.exit(1)
  }
}

delete process.env.NODE_ENV
delete process.env.DATABASE_URL
const filters = process.argv.slice(2)
if (filters.length === 0) {
  step("Types", "node_modules/@typescript/native/bin/tsc", "--project", "tsconfig.json")
  step("Lint and format", "node_modules/@biomejs/biome/bin/biome", "check")
}

console.log("\nTests")
const vitest = await startVitest("test", filters, { run: true, watch: false })
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
console.log(`\n${count("passed")} passed, ${failed} failed, ${count("skipped")} skipped`)
process.exit(outcomes.length > 0 && failed === 0 ? 0 : 1)
