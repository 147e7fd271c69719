// The local certificate authority: what clients accept, what is kept, what is renewed and when.

import { execFile } from "node:child_process"
import { X509Certificate } from "node:crypto"
import { once } from "node:events"
import * as fs from "node:fs"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { assert, beforeEach, describe, it } from "@effect/vitest"
import { DateTime, Effect } from "effect"
import { TestClock } from "effect/testing"
import { Agent, fetch } from "undici"
import { onTestFinished } from "vitest"
import { type LocalCertificate, localCertificate } from "../../src/platform/localCertificate.ts"

let dataDir = ""

beforeEach(() => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-tls-"))
  dataDir = folder
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
})

const make = (...names: ReadonlyArray<string>) => localCertificate({ dataDir, names })

const atNow = TestClock.setTime(DateTime.toEpochMillis(DateTime.nowUnsafe()))

/** The port of an HTTPS server with the certificate. */
const listen = ({ cert, key }: LocalCertificate) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer({ cert, key }, (_request, response) => response.end("served"))
      server.listen(0)
      await once(server, "listening")
      return server
    }),
    (server) =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  ).pipe(Effect.map((server) => (server.address() as AddressInfo).port))

describe("clients that trust ca.pem", () => {
  it.live("accept it by every name: Node", () =>
    Effect.gen(function* () {
      const certificate = yield* make()
      const port = yield* listen(certificate)
      const dispatcher = new Agent({ connect: { ca: fs.readFileSync(certificate.caFile) } })
      for (const host of ["localhost", "127.0.0.1", "[::1]"]) {
        const response = yield* Effect.promise(() =>
          fetch(`https://${host}:${port}/`, { dispatcher })
        )
        assert.strictEqual(yield* Effect.promise(() => response.text()), "served")
      }
      yield* Effect.promise(() => dispatcher.close())
      const distrustful = yield* Effect.tryPromise(() => fetch(`https://localhost:${port}/`)).pipe(
        Effect.flip
      )
      assert.include(String((distrustful.cause as Error).cause), "certificate")
    })
  )

  it.live("accept it: curl", () =>
    Effect.gen(function* () {
      const certificate = yield* make()
      const port = yield* listen(certificate)
      const { stdout } = yield* Effect.promise(() =>
        promisify(execFile)("curl", [
          ...["--silent", "--show-error", "--noproxy", "*"],
          ...["--cacert", certificate.caFile, `https://localhost:${port}/`]
        ])
      )
      assert.strictEqual(stdout, "served")
    })
  )
})

describe("the files", () => {
  it.effect("hold an authority for 10 years and a certificate for 397 days", () =>
    Effect.gen(function* () {
      yield* atNow
      const { caFile, cert } = yield* make("ledger.example", "192.0.2.7")
      const authority = new X509Certificate(fs.readFileSync(caFile))
      const server = new X509Certificate(cert)
      const days = (certificate: X509Certificate) =>
        (certificate.validToDate.getTime() - certificate.validFromDate.getTime()) / 86_400_000
      assert.isTrue(authority.ca)
      assert.isFalse(server.ca)
      assert.strictEqual(days(authority), 3650)
      assert.strictEqual(days(server), 397)
      assert.strictEqual(server.publicKey.asymmetricKeyDetails?.namedCurve, "prime256v1")
      assert.deepStrictEqual(server.keyUsage, ["1.3.6.1.5.5.7.3.1"])
      assert.isTrue(server.checkIssued(authority) && server.verify(authority.publicKey))
      assert.notStrictEqual(server.serialNumber, authority.serialNumber)
      for (const name of ["localhost", os.hostname(), "ledger.example"]) {
        assert.strictEqual(server.checkHost(name, { subject: "never" }), name)
      }
      for (const address of ["127.0.0.1", "::1", "192.0.2.7"]) {
        assert.strictEqual(server.checkIP(address), address)
      }
      const modes = fs
        .readdirSync(path.join(dataDir, "tls"))
        .map((name) => [name, fs.statSync(path.join(dataDir, "tls", name)).mode & 0o777])
      assert.deepStrictEqual(modes, [
        ["ca-key.pem", 0o600],
        ["ca.pem", 0o644],
        ["cert.pem", 0o644],
        ["key.pem", 0o600]
      ])
    })
  )

  it.effect("stay as they are until 30 days before the end, then the certificate is renewed", () =>
    Effect.gen(function* () {
      yield* atNow
      const first = yield* make()
      const authority = fs.readFileSync(first.caFile, "utf8")
      yield* TestClock.adjust("366 days")
      assert.deepStrictEqual(yield* make(), first)
      yield* TestClock.adjust("1 day")
      const renewed = yield* make()
      assert.notStrictEqual(renewed.cert, first.cert)
      assert.strictEqual(fs.readFileSync(first.caFile, "utf8"), authority)
      assert.isTrue(new X509Certificate(renewed.cert).checkIssued(new X509Certificate(authority)))
    })
  )

  it.effect("are renewed for a new name, and keep the authority", () =>
    Effect.gen(function* () {
      yield* atNow
      const first = yield* make()
      const authority = fs.readFileSync(first.caFile, "utf8")
      const second = yield* make("ledger.example")
      assert.notStrictEqual(second.cert, first.cert)
      assert.deepStrictEqual(yield* make("ledger.example"), second)
      assert.strictEqual(fs.readFileSync(first.caFile, "utf8"), authority)
    })
  )

  it.effect.each(["cert.pem", "key.pem", "ca.pem", "ca-key.pem"])(
    "are made again when %s is damaged",
    (name) =>
      Effect.gen(function* () {
        yield* atNow
        const first = yield* make()
        fs.writeFileSync(path.join(dataDir, "tls", name), "damaged")
        const second = yield* make()
        assert.notStrictEqual(second.cert, first.cert)
        const authority = new X509Certificate(fs.readFileSync(second.caFile))
        assert.isTrue(new X509Certificate(second.cert).verify(authority.publicKey))
      })
  )

  it.effect("that cannot be written give an error that names the folder", () =>
    Effect.gen(function* () {
      yield* atNow
      fs.writeFileSync(path.join(dataDir, "tls"), "not a folder")
      const error = yield* Effect.flip(make())
      assert.include(error.message, path.join(dataDir, "tls"))
    })
  )
})
