// How a person gets in at the first start: a workspace, a token, and files that hold them. Used by
// service.ts once the database is ready, and again when the address is known.
import * as path from "node:path"
import { Console, Effect } from "effect"
import type { Settings } from "./config.ts"
import { type Access, ensureAccess, firstRun, isKnown } from "./domain/firstRun.ts"
import {
  type Credentials,
  curlConfigFile,
  readCredentials,
  setAside,
  writeCredentials
} from "./platform/credentials.ts"

/** Makes sure that there is somebody to let in. Answers undefined when only others have tokens. */
export const prepareAccess = Effect.fnUntraced(function* (settings: Settings) {
  const keep = (access: Access) =>
    writeCredentials(settings.dataDir, { ...access, baseUrl: "", caFile: null })
  if (settings.bootstrap !== undefined) return yield* ensureAccess(settings.bootstrap)
  const kept = yield* readCredentials(settings.dataDir)
  if (kept !== undefined && (yield* isKnown(kept))) return kept
  if (kept !== undefined) {
    const file = yield* setAside(settings.dataDir)
    yield* Effect.logWarning(
      `This database does not accept the token in credentials.json (unknown, or revoked); the file was renamed to ${file}`
    )
  }
  return yield* firstRun(settings.bootstrapName, keep)
})

/** «`baseUrl` refreshed at every start», and what to do first, for whoever reads the terminal. */
export const announceAccess = Effect.fnUntraced(function* (
  settings: Settings,
  access: Access | undefined,
  at: Pick<Credentials, "baseUrl" | "caFile">
) {
  if (access === undefined) {
    yield* Console.log(
      "This database has its tokens already, and none of them is in this data folder. Use the credentials.json of the first start, or issue a token: npx ledger token issue --role admin"
    )
    return
  }
  const { token, workspaceId } = access
  yield* writeCredentials(settings.dataDir, { ...at, workspaceId, token })
  yield* Console.log(`try it: ${curlLine(settings.dataDir, at.baseUrl)}`)
})

/** Works when pasted into a shell in the same folder. */
const curlLine = (dataDir: string, baseUrl: string) => {
  const file = path.relative(process.cwd(), curlConfigFile(dataDir))
  const shown = file.startsWith("..") ? curlConfigFile(dataDir) : file
  return `curl -K ${/^[\w./-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", `'\\''`)}'`} ${baseUrl}/status`
}
