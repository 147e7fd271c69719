// The operating system user that PostgreSQL runs as. PostgreSQL refuses to run as root, so root
// lends it an unprivileged user. Used by postgresHome.ts and postgresProcess.ts.

import { execFileSync } from "node:child_process"
import * as os from "node:os"
import { Effect, Result } from "effect"
import { type PostgresError, unsupported } from "./postgresError.ts"

/** The user to switch to before running PostgreSQL. */
export interface PostgresUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** Users that exist on most machines, the most fitting first. */
const CANDIDATES = ["postgres", "nobody"] as const

/** True when this process is root (on Windows it never is). */
export const isRoot = (): boolean => process.getuid?.() === 0

/**
 * The user that root lends PostgreSQL, or undefined when PostgreSQL runs as the present user.
 * Fails when neither can work: no such account, or a present user without a passwd entry.
 */
export const findPostgresUser: Effect.Effect<PostgresUser | undefined, PostgresError> =
  Effect.suspend(() => {
    if (!isRoot()) return Effect.as(requireOwnAccount, undefined)
    const found = CANDIDATES.map(lookUp).find((user) => user !== undefined && user.uid !== 0)
    if (found !== undefined) return Effect.succeed(found)
    return Effect.fail(
      unsupported(
        "PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody."
      )
    )
  })

/** initdb and postgres both look their own account up, and fail without it (common in containers). */
const requireOwnAccount = Effect.try({
  try: () => os.userInfo(),
  catch: (cause) =>
    unsupported(
      `The embedded PostgreSQL needs a user account, and user id ${process.getuid?.()} has no entry in the passwd database.`,
      cause
    )
})

const lookUp = (name: string): PostgresUser | undefined => {
  const uid = numericId("-u", name)
  const gid = numericId("-g", name)
  return uid === undefined || gid === undefined ? undefined : { name, uid, gid }
}

/** The account that owns an existing cluster; its files can be used by nobody else. */
export const userById = (uid: number, gid: number): PostgresUser => ({
  name: Result.getOrElse(
    Result.try(() => run("id", ["-u", "-n", String(uid)])),
    () => `with id ${uid}`
  ),
  uid,
  gid
})

const numericId = (flag: "-u" | "-g", name: string): number | undefined =>
  Result.getOrUndefined(Result.try(() => Number(run("id", [flag, name]))))

const run = (command: string, parameters: ReadonlyArray<string>): string =>
  execFileSync(command, parameters, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  }).trim()

/**
 * Whether the user really gets into a folder: tried as that user, because modes, groups and access
 * lists of all its parents decide together. The folder is a shell parameter, never part of the command.
 */
export const canEnter = (user: PostgresUser, folder: string): boolean =>
  Result.isSuccess(
    Result.try(() =>
      execFileSync("/bin/sh", ["-c", 'cd "$1"', "sh", folder], {
        cwd: "/",
        uid: user.uid,
        gid: user.gid,
        stdio: "ignore"
      })
    )
  )
