// Two projects: `unit` needs nothing but Node; `service` gets one throwaway PostgreSQL for the run,
// and every test file clones its own database from a template.
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    // Much of the time is waiting for processes and clocks: one more file than a small machine has cores.
    maxWorkers: 3,
    projects: [
      { test: { name: "unit", include: ["test/**/*.unit.test.ts"] } },
      {
        test: {
          name: "service",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.unit.test.ts"],
          globalSetup: ["test/support/globalPostgres.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000
        }
      }
    ]
  }
})
