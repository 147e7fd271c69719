// `npm test`: types, lint, then every test. Ends with one line that counts the tests; arguments are
// passed on to vitest (`npm test -- test/rest`).
import { spawnSync } from "node:child_process"
import { countTests } from "./countTests.mjs"

const step = (title, file, ...args) => {
  console.log(`\n${title}`)
  const { status } = spawnSync(process.execPath, [file, ...args], { stdio: "inherit" })
  if (status !== 0) {
    console.error(`${title}: failed`)
    process.exit(1)
  }
}

const filters = process.argv.slice(2)
if (filters.length === 0) {
  step("Types", "node_modules/@typescript/native/bin/tsc", "--project", "tsconfig.json")
  step("Lint and format", "node_modules/@biomejs/biome/bin/biome", "check")
}

console.log("\nTests")
await countTests(filters)
