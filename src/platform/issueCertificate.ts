// Issues the two certificates of LEDGER_TLS=local. Called by localCertificate.ts, which decides when.
// The certificate library registers its parts through reflect-metadata, which must be loaded first.
import "reflect-metadata"
import { createPrivateKey, randomBytes, webcrypto } from "node:crypto"
import { isIP } from "node:net"
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator
} from "@peculiar/x509"
import { DateTime } from "effect"

/** A certificate and its private key, both as PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" }
const SIGNING = { name: "ECDSA", hash: "SHA-256" }

const AUTHORITY_DAYS = 3650
/** Browsers and systems refuse server certificates that live longer than 398 days. */
const SERVER_DAYS = 397
/** Clients whose clock is a little late must not find a certificate from the future. */
const CLOCK_SKEW_MINUTES = 10

/** A new certificate authority; it can sign server certificates and nothing below them. */
export const issueAuthority = (now: DateTime.Utc): Promise<Issued> =>
  newKeys().then((keys) =>
    subjectKeyId(keys.publicKey)
      .then((keyId) =>
        X509CertificateGenerator.createSelfSigned({
          ...validity(now, AUTHORITY_DAYS),
          serialNumber: newSerial(),
          // The random part tells the authorities of several data folders apart in a trust store.
          name: [{ CN: [`Workspace Ledger local CA ${randomBytes(4).toString("hex")}`] }],
          keys,
          signingAlgorithm: SIGNING,
          extensions: [
            new BasicConstraintsExtension(true, 0, true),
            new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
            keyId
          ]
        })
      )
      .then((certificate) => toPem(certificate, keys))
  )

/** A server certificate for `names` (host names and IP addresses), signed by `authority`. */
export const issueServerCertificate = async (
  authority: Issued,
  names: ReadonlyArray<string>,
  now: DateTime.Utc
): Promise<Issued> => {
  const issuer = new X509Certificate(authority.cert)
  const keys = await newKeys()
  const certificate = await X509CertificateGenerator.create({
    ...validity(now, SERVER_DAYS),
    serialNumber: newSerial(),
    subject: [{ CN: ["localhost"] }],
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await readKey(authority.key),
    signingAlgorithm: SIGNING,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }))
      ),
      await subjectKeyId(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey)
    ]
  })
  return toPem(certificate, keys)
}

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])

const readKey = (pem: string) => {
  const der = createPrivateKey(pem).export({ format: "der", type: "pkcs8" })
  return webcrypto.subtle.importKey("pkcs8", der, ALGORITHM, false, ["sign"])
}

const subjectKeyId = (publicKey: webcrypto.CryptoKey) =>
  SubjectKeyIdentifierExtension.create(publicKey)

const toPem = async (certificate: X509Certificate, keys: webcrypto.CryptoKeyPair) => ({
  cert: `${certificate.toString("pem")}\n`,
  key: `${PemConverter.encode(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey), "PRIVATE KEY")}\n`
})

const validity = (now: DateTime.Utc, days: number) => {
  const start = DateTime.subtract(now, { minutes: CLOCK_SKEW_MINUTES })
  return {
    notBefore: DateTime.toDateUtc(start),
    notAfter: DateTime.toDateUtc(DateTime.add(start, { days }))
  }
}

/** Positive (the first bit is zero) and never zero, as the standard wants serial numbers. */
const newSerial = (): string => {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes.toString("hex")
}
