// scripts/prepare.mjs and scripts/run.sh in a tiny clone of their own: what is installed, when, and
// what users are told. The clone has no dependencies, so npm needs neither network nor cache.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, beforeEach, describe, it } from "@effect/vitest"
import { onTestFinished } from "vitest"

const isRoot = process.getuid?.() === 0
const project = path.join(import.meta.dirname, "../..")
const SCRIPTS = ["scripts/prepare.mjs", "scripts/prepareLock.mjs", "scripts/run.sh"]
let clone = ""

beforeEach(() => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-clone-"))
  clone = folder
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  for (const file of [...SCRIPTS, "bin/ledger.mjs"]) {
    fs.mkdirSync(path.dirname(inClone(file)), { recursive: true })
    fs.copyFileSync(path.join(project, file), inClone(file))
  }
  const identity = { name: "tiny", version: "1.0.0" }
  writeJson("package.json", { ...identity, type: "module", engines: { node: ">=22.19" } })
  writeLock(identity)
})

const inClone = (file: string) => path.join(clone, file)

const writeJson = (file: string, value: unknown) =>
  fs.writeFileSync(inClone(file), JSON.stringify(value, null, 2))

const writeLock = (root: object) =>
  writeJson("package-lock.json", {
    name: "tiny",
    version: "1.0.0",
    lockfileVersion: 3,
    requires: true,
    packages: { "": root }
  })

const start = (parameters: ReadonlyArray<string>, command = process.execPath): ChildProcess =>
  spawn(command, parameters, { cwd: clone, stdio: ["ignore", "pipe", "pipe"] })

/** Both streams to their ends, and the exit code. */
const result = async (child: ChildProcess) => {
  const output = { stdout: "", stderr: "" }
  child.stdout?.on("data", (text) => (output.stdout += text))
  child.stderr?.on("data", (text) => (output.stderr += text))
  const [code] = await once(child, "close")
  return { ...output, code: Number(code) }
}

const prepare = (mode: string) => result(start(["scripts/prepare.mjs", mode]))

const silent = { code: 0, stdout: `${process.execPath}\n`, stderr: "" }

describe("prepare.mjs", () => {
  it("installs once, links the command ledger, and then says nothing but the path of Node", async () => {
    const first = await prepare("serve")
    assert.deepStrictEqual(first, {
      ...silent,
      stderr: "Installing dependencies (first run)…\n"
    })
    assert.strictEqual(fs.readlinkSync(inClone("node_modules/.bin/ledger")), "../../bin/ledger.mjs")
    assert.deepStrictEqual(await prepare("serve"), silent)
    assert.deepStrictEqual(fs.readdirSync(inClone(".tools")), [])
  })

  it("installs again for the tests, whose installation also serves, and when the lock changes", async () => {
    await prepare("serve")
    assert.include((await prepare("test")).stderr, "all dependencies, also those of the tests")
    assert.deepStrictEqual(await prepare("serve"), silent)
    writeLock({ name: "tiny", version: "1.0.1" })
    assert.include((await prepare("serve")).stderr, "all dependencies")
    assert.deepStrictEqual(await prepare("test"), silent)
  })

  it("installs once when it is started twice at the same time", async () => {
    const results = await Promise.all([prepare("serve"), prepare("serve")])
    assert.deepStrictEqual(
      results.map(({ code, stdout }) => ({ code, stdout })),
      [silent, silent].map(({ code, stdout }) => ({ code, stdout }))
    )
    const said = results.map(({ stderr }) => stderr).join("")
    assert.strictEqual(said.split("Installing").length - 1, 1)
  })

  it("does not wait for a preparation that was killed", async () => {
    const dead = start(["--eval", ""])
    await once(dead, "close")
    fs.mkdirSync(inClone(".tools"))
    fs.writeFileSync(inClone(".tools/prepare.lock"), String(dead.pid))
    const { code, stderr } = await prepare("serve")
    assert.deepStrictEqual(
      { code, stderr },
      { code: 0, stderr: "Installing dependencies (first run)…\n" }
    )
  })

  it("shows the failed command and what npm said, and tries again the next time", async () => {
    fs.writeFileSync(inClone("package-lock.json"), "{")
    const { code, stderr, stdout } = await prepare("serve")
    assert.strictEqual(code, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /This command failed: npm ci --omit=dev .*\n.*npm error/)
    writeLock({ name: "tiny", version: "1.0.0" })
    assert.strictEqual((await prepare("serve")).code, 0)
  })

  it.runIf(!isRoot)("says that the folder cannot be written", async () => {
    fs.chmodSync(clone, 0o555)
    const { code, stderr } = await prepare("serve")
    fs.chmodSync(clone, 0o755)
    assert.strictEqual(code, 1)
    assert.match(stderr, /needs to be prepared, and .* cannot be written \(EACCES\)/)
  })
})

describe.each([
  ["run.sh", () => start(["scripts/run.sh", "serve", "src/cli.ts", "one", "two words"], "/bin/sh")],
  ["bin/ledger.mjs", () => start(["bin/ledger.mjs", "one", "two words"])]
])("%s", (_name, run) => {
  it("hands over arguments, signals and the exit code", async () => {
    fs.mkdirSync(inClone("src"))
    fs.writeFileSync(
      inClone("src/cli.ts"),
      `const ended = setTimeout(() => {}, 60_000)
       process.on("SIGTERM", () => { clearTimeout(ended); process.exitCode = 7 })
       console.log(JSON.stringify(process.argv.slice(2) satisfies Array<string>))`
    )
    const child = run()
    const [line] = await once(child.stdout ?? child, "data")
    assert.deepStrictEqual(JSON.parse(String(line)), ["one", "two words"])
    child.kill("SIGTERM")
    assert.strictEqual((await result(child)).code, 7)
  })
})
