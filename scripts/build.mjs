// `npm run build`: src/ as JavaScript with types in dist/, for the published package.
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"

fs.rmSync("dist", { recursive: true, force: true })
const { status } = spawnSync(
  process.execPath,
  ["node_modules/@typescript/native/bin/tsc", "--project", "tsconfig.build.json"],
  { stdio: "inherit" }
)
process.exit(status ?? 1)
