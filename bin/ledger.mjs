#!/usr/bin/env node
// The command `ledger`. In a clone it runs src/cli.ts, after preparing what is missing; in an
// installed package it runs dist/cli.js. Works with any Node from 20 on; the program needs a newer one.
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = path.resolve(path.dirname(fs.realpathSync(fileURLToPath(import.meta.url))), "..")
const source = path.join(root, "src/cli.ts")

// Names are looked up on half of these threads, so that a few whose servers are silent hold up no others.
process.env.UV_THREADPOOL_SIZE ??= "32"

/** Which Node runs which file. The preparation belongs to clones and is not in the package. */
const choose = async () => {
  if (!fs.existsSync(source))
    return { node: process.execPath, file: path.join(root, "dist/cli.js") }
  const { prepare } = await import(pathToFileURL(path.join(root, "scripts/prepare.mjs")).href)
  return { node: prepare("serve"), file: source }
}

/** Becomes the program where the system allows it; otherwise stands in front of it, passing signals. */
const become = (node, parameters) => {
  if (typeof process.execve === "function" && process.platform !== "win32") {
    process.execve(node, [node, ...parameters], process.env)
  }
  const child = spawn(node, parameters, { stdio: "inherit" })
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"]) {
    process.on(signal, () => child.kill(signal))
  }
  child.on("error", (error) => {
    process.stderr.write(`Cannot run ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on("exit", (code, signal) => {
    process.exitCode = code ?? 128 + (os.constants.signals[signal] ?? 0)
  })
}

try {
  const { file, node } = await choose()
  become(node, [file, ...process.argv.slice(2)])
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
