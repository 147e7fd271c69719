// The long forms of the tests, for `npm run prove`: one after another, because they measure and load
// the machine. `npm test` does not include them.
import * as path from "node:path"
import { defineConfig } from "vitest/config"

export default defineConfig({
  root: path.resolve(import.meta.dirname, "../.."),
  test: {
    include: ["test/prove/*.prove.ts"],
    globalSetup: ["test/support/globalPostgres.ts"],
    fileParallelism: false,
    testTimeout: 30 * 60_000,
    hookTimeout: 60_000
  }
})
