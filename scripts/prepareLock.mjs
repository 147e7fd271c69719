// Lets one preparation of a clone run at a time, and speaks to the user. Called by prepare.mjs; runs on
// any Node from 20 on and uses nothing but Node itself.
import * as fs from "node:fs"
import * as path from "node:path"

const LOCK_WAIT_MS_MAX = 10 * 60_000
const LOCK_POLL_MS = 200

/** A failure that is explained to the user; anything else is a defect and shows its stack. */
export class PrepareError extends Error {}

/** Tells the user something; stdout belongs to the answer. */
export const say = (text) => process.stderr.write(`${text}\n`)

/** Runs `use` while no other preparation holds `lockFile`; waits for one that does. */
export const withLock = (lockFile, use) => {
  takeLock(lockFile)
  try {
    return use()
  } finally {
    fs.rmSync(lockFile, { force: true })
  }
}

const takeLock = (lockFile) => {
  const started = performance.now()
  let told = false
  while (!tryLock(lockFile)) {
    const owner = lockOwner(lockFile)
    if (owner !== undefined && !isAlive(owner)) {
      breakLock(lockFile, owner)
      continue
    }
    if (!told) say(`Waiting for process ${owner ?? "?"}, which holds ${lockFile}…`)
    told = true
    if (performance.now() - started > LOCK_WAIT_MS_MAX) {
      throw new PrepareError(`Gave up waiting. If nothing else runs, remove ${lockFile}.`)
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_POLL_MS)
  }
}

/** A linked file appears with its content, so nobody ever reads a lock without an owner. */
const tryLock = (lockFile) => {
  const draft = `${lockFile}.${process.pid}`
  try {
    fs.mkdirSync(path.dirname(lockFile), { recursive: true })
    fs.writeFileSync(draft, String(process.pid))
    fs.linkSync(draft, lockFile)
    return true
  } catch (error) {
    if (error.code === "EEXIST") return false
    throw new PrepareError(
      `This folder needs to be prepared, and ${path.dirname(lockFile)} cannot be written (${error.code}). Run npm start once as a user who may write here.`
    )
  } finally {
    fs.rmSync(draft, { force: true })
  }
}

const lockOwner = (lockFile) => {
  try {
    return Number(fs.readFileSync(lockFile, "utf8"))
  } catch {
    return undefined
  }
}

const isAlive = (pid) => {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

/** Only one of several waiters can rename the stale lock away; the others go on waiting. */
const breakLock = (lockFile, owner) => {
  const aside = `${lockFile}.stale-${process.pid}`
  try {
    fs.renameSync(lockFile, aside)
    // A lock that changed hands in the meantime is put back.
    if (Number(fs.readFileSync(aside, "utf8")) !== owner) fs.linkSync(aside, lockFile)
  } catch (error) {
    if (error.code !== "ENOENT" && error.code !== "EEXIST") throw error
  } finally {
    fs.rmSync(aside, { force: true })
  }
}
