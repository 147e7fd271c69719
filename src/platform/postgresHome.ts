// Decides where the embedded cluster lives and which user it runs as, and makes the folders.
// Called by embeddedPostgres.ts; prepareDataFolder also by whoever writes into the data folder first.

import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { Effect, Result } from "effect"
import { SHARED_FOLDER } from "./postgresBinaries.ts"
import { attempt, PostgresError } from "./postgresError.ts"
import { canEnter, findPostgresUser, isRoot, type PostgresUser, userById } from "./postgresUser.ts"

/** The folder of one embedded cluster. */
export interface PostgresHome {
  /** The service's data folder that the cluster belongs to. */
  readonly dataDir: string
  /** Everything of the cluster; appears in one step, complete, when it is first made. */
  readonly folder: string
  /** What PostgreSQL calls its data directory. */
  readonly cluster: string
  readonly passwordFile: string
  readonly logFile: string
  /** The user to run PostgreSQL as, when that is not the present user. */
  readonly user: PostgresUser | undefined
}

/** Names the cluster's folder when it is not in the data folder. */
const POINTER_FILE = "postgres-folder"

/** Makes the service's data folder, closed to others, and answers its real path. */
export const prepareDataFolder = (dataDir: string): Effect.Effect<string, PostgresError> =>
  attempt(`Cannot use ${dataDir} as the data folder (LEDGER_DATA_DIR)`, () => {
    if (!fs.existsSync(dataDir)) {
      fs.mkdirSync(path.dirname(dataDir), { recursive: true })
      fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    }
    return fs.realpathSync(dataDir)
  })

/** Whether a cluster was made for this data folder, wherever it lies. */
export const holdsCluster = (dataDir: string): boolean =>
  fs.existsSync(path.join(dataDir, POINTER_FILE)) || fs.existsSync(path.join(dataDir, "postgres"))

/** Finds the cluster of this data folder, or the place and the user for a new one. */
export const findPostgresHome = Effect.fn("findPostgresHome")(function* (
  dataDir: string
): Effect.fn.Return<PostgresHome, PostgresError> {
  const folder = yield* attempt(
    `Cannot read ${dataDir}`,
    () => readPointer(dataDir) ?? path.join(dataDir, "postgres")
  )
  const owner = Result.getOrUndefined(Result.try(() => fs.statSync(folder)))
  if (owner !== undefined) return yield* existingHome(dataDir, folder, owner)

  const user = yield* findPostgresUser
  if (user === undefined) return home(dataDir, folder, user)
  yield* letIn(user, dataDir)
  const reachable = folder.startsWith(SHARED_FOLDER) || canEnter(user, dataDir)
  const chosen = reachable ? folder : yield* moveOut(dataDir, user)
  yield* attempt(`Cannot make ${path.dirname(chosen)}`, () => makeSharedParent(chosen, user))
  return home(dataDir, chosen, user)
})

const home = (dataDir: string, folder: string, user: PostgresUser | undefined): PostgresHome => ({
  dataDir,
  folder,
  cluster: path.join(folder, "data"),
  passwordFile: path.join(folder, "password"),
  logFile: path.join(folder, "postgres.log"),
  user
})

/** An existing cluster is run by the user who owns its files, whoever made it. */
const existingHome = Effect.fnUntraced(function* (
  dataDir: string,
  folder: string,
  owner: fs.Stats
): Effect.fn.Return<PostgresHome, PostgresError> {
  const ownId = process.getuid?.()
  if (ownId === undefined || ownId === owner.uid) return home(dataDir, folder, undefined)
  const user = userById(owner.uid, owner.gid)
  if (!isRoot()) {
    return yield* new PostgresError({
      reason: "Failed",
      message: `The database in ${folder} belongs to the user ${user.name}. Run as that user (or as root), or choose another data folder (LEDGER_DATA_DIR).`
    })
  }
  if (canEnter(user, folder)) return home(dataDir, folder, user)
  return yield* new PostgresError({
    reason: "Failed",
    message: `The user ${user.name}, who owns the database in ${folder}, cannot enter that folder. Allow it to pass through all parent folders (chmod o+x).`
  })
})

/** root's data folder stays closed, but the PostgreSQL user's group may pass through it. */
const letIn = (user: PostgresUser, dataDir: string): Effect.Effect<void, PostgresError> =>
  attempt(`Cannot open ${dataDir} to the user ${user.name}`, () => {
    const { gid, mode, uid } = fs.statSync(dataDir)
    if (uid !== 0 || (gid !== 0 && gid !== user.gid) || (mode & 0o77) !== 0) return
    fs.chownSync(dataDir, 0, user.gid)
    fs.chmodSync(dataDir, 0o710)
  })

/** Chooses a folder outside the data folder, and leaves a note about it in the data folder. */
const moveOut = Effect.fnUntraced(function* (
  dataDir: string,
  user: PostgresUser
): Effect.fn.Return<string, PostgresError> {
  // The random part makes a data folder that was deleted and made again start empty, as one expects.
  const name = createHash("sha256").update(dataDir).update(randomBytes(16)).digest("hex")
  const proposal = path.join(SHARED_FOLDER, name.slice(0, 16), "postgres")
  const folder = yield* attempt(`Cannot write into ${dataDir}`, () =>
    writePointer(dataDir, proposal)
  )
  yield* Effect.logWarning(
    `PostgreSQL runs as the user ${user.name}, who cannot reach ${dataDir}; the database is kept in ${folder}`
  )
  return folder
})

const readPointer = (dataDir: string): string | undefined => {
  const file = path.join(dataDir, POINTER_FILE)
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim() : undefined
}

/** Of two starts at once the first to link its note wins, and both use that one. */
const writePointer = (dataDir: string, folder: string): string => {
  const draft = path.join(dataDir, `${POINTER_FILE}.${randomBytes(6).toString("hex")}`)
  fs.writeFileSync(draft, `${folder}\n`, { mode: 0o600 })
  const linked = Result.try(() => fs.linkSync(draft, path.join(dataDir, POINTER_FILE)))
  fs.rmSync(draft)
  const chosen = readPointer(dataDir)
  if (chosen === undefined && Result.isFailure(linked)) throw linked.failure
  return chosen ?? folder
}

const makeSharedParent = (folder: string, user: PostgresUser): void => {
  if (!folder.startsWith(SHARED_FOLDER)) return
  fs.mkdirSync(SHARED_FOLDER, { recursive: true })
  fs.chmodSync(SHARED_FOLDER, 0o755)
  const parent = path.dirname(folder)
  fs.mkdirSync(parent, { recursive: true })
  fs.chownSync(parent, 0, user.gid)
  fs.chmodSync(parent, 0o710)
}
