// LEDGER_TLS=local: a certificate authority of our own and the server's certificate, made once in the
// data folder. Called by the service at its start.

import { createPrivateKey, X509Certificate } from "node:crypto"
import * as fs from "node:fs"
import { isIP } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { Clock, Data, DateTime, Effect, Result } from "effect"
import { type Issued, issueAuthority, issueServerCertificate } from "./issueCertificate.ts"

/** Why there is no local certificate; `message` says what a user can do about it. */
export class LocalCertificateError extends Data.TaggedError("LocalCertificateError")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** A certificate and its key, and the file that clients have to trust. */
export interface LocalCertificate {
  readonly cert: string
  readonly key: string
  readonly caFile: string
}

/** A certificate with less time than this is replaced at the next start. */
const RENEW_BEFORE_DAYS = 30

const ALWAYS_NAMED = ["localhost", "127.0.0.1", "::1"]

/**
 * The local certificate for this machine and the given further names (host names or IP addresses).
 * What is in `<dataDir>/tls` is used as long as it fits; the authority outlives many certificates, so
 * clients that trust it need no change.
 */
export const localCertificate = Effect.fn("localCertificate")(function* (options: {
  readonly dataDir: string
  readonly names: ReadonlyArray<string>
}): Effect.fn.Return<LocalCertificate, LocalCertificateError> {
  const folder = path.join(options.dataDir, "tls")
  const names = usableNames([...ALWAYS_NAMED, os.hostname(), ...options.names])
  const now = yield* Clock.currentTimeMillis
  yield* attempt(`Cannot create ${folder}`, () =>
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  )
  const authority = readPair(folder, "ca", now) ?? (yield* makeAuthority(folder))
  const present = readPair(folder, SERVER, now)
  const fits = present !== undefined && serves(present.cert, authority.cert, names)
  const { cert, key } = fits ? present : yield* makeServer(folder, authority, names)
  return { cert, key, caFile: path.join(folder, "ca.pem") }
})

/** The server's files are named for what they are: `cert.pem` and `key.pem`. */
const SERVER = ""

const filesOf = (folder: string, owner: "ca" | typeof SERVER) => ({
  cert: path.join(folder, owner === "ca" ? "ca.pem" : "cert.pem"),
  key: path.join(folder, owner === "ca" ? "ca-key.pem" : "key.pem")
})

/** Names that a certificate can hold: it has no room for other alphabets, and none for nothing. */
const usableNames = (names: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(names.filter((name) => isIP(name) !== 0 || /^[A-Za-z0-9._-]{1,253}$/.test(name)))
]

const makeAuthority = Effect.fnUntraced(function* (folder: string) {
  yield* Effect.logInfo(`Creating a local certificate authority in ${folder}`)
  const authority = yield* issue(
    Effect.flatMap(DateTime.now, (now) => Effect.tryPromise(() => issueAuthority(now)))
  )
  yield* writePair(folder, "ca", authority)
  return authority
})

const makeServer = Effect.fnUntraced(function* (
  folder: string,
  authority: Issued,
  names: ReadonlyArray<string>
) {
  const server = yield* issue(
    Effect.flatMap(DateTime.now, (now) =>
      Effect.tryPromise(() => issueServerCertificate(authority, names, now))
    )
  )
  yield* writePair(folder, SERVER, server)
  return server
})

const issue = <E>(effect: Effect.Effect<Issued, E>) =>
  Effect.mapError(
    effect,
    (cause) => new LocalCertificateError({ message: "Cannot make a certificate", cause })
  )

/** A certificate with its own key and enough time left; anything else is as good as absent. */
const readPair = (
  folder: string,
  owner: "ca" | typeof SERVER,
  nowMillis: number
): Issued | undefined =>
  Result.getOrUndefined(
    Result.try(() => {
      const files = filesOf(folder, owner)
      const cert = fs.readFileSync(files.cert, "utf8")
      const key = fs.readFileSync(files.key, "utf8")
      const certificate = new X509Certificate(cert)
      const daysLeft = (certificate.validToDate.getTime() - nowMillis) / 86_400_000
      const started = certificate.validFromDate.getTime() <= nowMillis
      const matches = certificate.checkPrivateKey(createPrivateKey(key))
      return matches && started && daysLeft >= RENEW_BEFORE_DAYS ? { cert, key } : undefined
    })
  )

const serves = (cert: string, authority: string, names: ReadonlyArray<string>): boolean => {
  const certificate = new X509Certificate(cert)
  const issuer = new X509Certificate(authority)
  return (
    certificate.checkIssued(issuer) &&
    certificate.verify(issuer.publicKey) &&
    names.every((name) => holdsName(certificate, name))
  )
}

const holdsName = (certificate: X509Certificate, name: string): boolean =>
  isIP(name) === 0
    ? certificate.checkHost(name, { subject: "never" }) !== undefined
    : certificate.checkIP(name) !== undefined

/** Key first: a pair that was cut in half by a crash does not match, and is made again. */
const writePair = (folder: string, owner: "ca" | typeof SERVER, { cert, key }: Issued) =>
  attempt(`Cannot write into ${folder}`, () => {
    const files = filesOf(folder, owner)
    writeAtomically(files.key, key, 0o600)
    writeAtomically(files.cert, cert, 0o644)
  })

const writeAtomically = (file: string, text: string, mode: number): void => {
  const draft = `${file}.${process.pid}`
  fs.rmSync(draft, { force: true })
  fs.writeFileSync(draft, text, { mode, flag: "wx" })
  fs.renameSync(draft, file)
}

const attempt = <A>(action: string, evaluate: () => A) =>
  Effect.try({
    try: evaluate,
    catch: (cause) =>
      new LocalCertificateError({
        message: `${action}: ${cause instanceof Error ? cause.message : String(cause)}`,
        cause
      })
  })
