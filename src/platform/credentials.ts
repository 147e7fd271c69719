// `credentials.json` in the data folder: what a program on this machine needs to use the service, and
// beside it `curl.conf`, the same for curl, so that no token needs to stand on a command line.
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { Data, Effect } from "effect"

export interface Credentials {
  readonly baseUrl: string
  readonly workspaceId: string
  readonly token: string
  /** The local certificate authority, or null when the certificate is not ours. */
  readonly caFile: string | null
}

export class CredentialsError extends Data.TaggedError("CredentialsError")<{
  readonly message: string
}> {}

const credentialsFile = (dataDir: string) => path.resolve(dataDir, "credentials.json")
export const curlConfigFile = (dataDir: string) => path.resolve(dataDir, "curl.conf")

const attempt = <A>(what: string, evaluate: () => A) =>
  Effect.try({
    try: evaluate,
    catch: () => new CredentialsError({ message: `Cannot ${what}.` })
  })

/** The credentials of this data folder, or undefined when there are none that can be read. */
export const readCredentials = (dataDir: string): Effect.Effect<Credentials | undefined> =>
  Effect.try({
    try: () => JSON.parse(fs.readFileSync(credentialsFile(dataDir), "utf8")) as Credentials,
    catch: () => undefined
  }).pipe(Effect.orElseSucceed(() => undefined))

/** Writes both files whole or not at all, readable by their owner only. */
export const writeCredentials = (dataDir: string, credentials: Credentials) =>
  attempt(`write ${credentialsFile(dataDir)}`, () => {
    fs.mkdirSync(path.resolve(dataDir), { recursive: true, mode: 0o700 })
    writeWhole(credentialsFile(dataDir), `${JSON.stringify(credentials, null, 2)}\n`)
    writeWhole(curlConfigFile(dataDir), curlConfig(credentials))
  })

const writeWhole = (file: string, text: string) => {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  fs.writeFileSync(draft, text, { mode: 0o600 })
  fs.renameSync(draft, file)
}

const curlConfig = ({ caFile, token, workspaceId }: Credentials) =>
  [
    `header = "X-Proxy-Token: ${token.replace(/["\\]/g, "\\$&")}"`,
    `header = "X-Workspace-Id: ${workspaceId}"`,
    ...(caFile === null ? [] : [`cacert = "${caFile.replace(/["\\]/g, "\\$&")}"`]),
    "silent",
    "show-error",
    // Answers end without one: the prompt would stand behind them.
    'write-out = "\\n"',
    ""
  ].join("\n")

/** Puts credentials that this database does not know out of the way; answers where they are now. */
export const setAside = (dataDir: string) =>
  attempt(`rename ${credentialsFile(dataDir)}`, () => {
    const kept = `${credentialsFile(dataDir)}.old-${randomBytes(3).toString("hex")}`
    fs.renameSync(credentialsFile(dataDir), kept)
    return kept
  })
