// Receivers that are broken or hostile. Each attempt ends within the deadline, with its reason, and
// leaves neither a connection nor memory behind.
import "reflect-metadata"
import { webcrypto } from "node:crypto"
import type { Duplex } from "node:stream"
import { gzipSync } from "node:zlib"
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator
} from "@peculiar/x509"
import { DateTime } from "effect"
import { assert, describe, it } from "vitest"
import {
  type Issued,
  issueAuthority,
  issueServerCertificate
} from "../../src/platform/issueCertificate.ts"
import type { AttemptOutcome } from "../../src/workers/sendWebhook.ts"
import { type Answer, closeOf, startReceiver, startSocketServer } from "../support/receiver.ts"
import { LATENESS_MILLISECONDS, SHORT_TIMEOUT_MILLISECONDS, startSender } from "./sender.ts"

const KEPT_BYTES = 16 * 1024
/** More than what the systems's buffers between the two take without anybody reading it. */
const READ_BYTES_MOST = 16 * 1024 * 1024

/** Writes as long as somebody takes it; resolves to the number of bytes when nobody does any more. */
const pour = async (socket: Duplex, chunk: string | Buffer): Promise<number> => {
  let bytes = 0
  const closed = closeOf(socket)
  while (!socket.destroyed) {
    bytes += chunk.length
    if (!socket.write(chunk))
      await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed])
  }
  return bytes
}

/** Writes now and then, until nobody listens any more. */
const drip = (socket: Duplex, text: string, milliseconds: number) => {
  const timer = setInterval(() => socket.write(text), milliseconds)
  socket.once("close", () => clearInterval(timer))
}

const write =
  (text: string | Buffer): Answer =>
  (socket) => {
    socket.write(text)
  }
const writeAndReset =
  (text: string): Answer =>
  (socket) => {
    socket.write(
      text,
      () => "resetAndDestroy" in socket && (socket.resetAndDestroy as () => void)()
    )
  }

/** What a sender makes of the answer; its deadline is short where the answer is to miss it. */
const attempt = async (answer: Answer, ends: "itself" | "late" = "itself") => {
  await using receiver = await startReceiver({ answer })
  await using sender = await startSender(ends === "late" ? SHORT : {})
  const outcome = await sender.send({ url: receiver.url })
  const most = ends === "late" ? SHORT_TIMEOUT_MILLISECONDS : 0
  assert.isBelow(outcome.durationMillis, most + LATENESS_MILLISECONDS)
  return outcome
}

const SHORT = { timeout: SHORT_TIMEOUT_MILLISECONDS }
const OK = "HTTP/1.1 200 OK\r\n"
const GZIP = gzipSync(Buffer.alloc(10 * 1024 * 1024))

describe("a receiver that", () => {
  const silence: Answer = () => {}
  const cases: ReadonlyArray<[string, Answer, Partial<AttemptOutcome>]> = [
    ["never answers", silence, { status: null, failure: "timeout" }],
    [
      "drips its status line",
      (socket) => drip(socket, "H", 50),
      { status: null, failure: "protocol" }
    ],
    [
      "drips its headers",
      (socket) => {
        socket.write(OK)
        drip(socket, "a: b\r\n", 50)
      },
      { status: null, failure: "timeout" }
    ],
    [
      "sends headers, then silence",
      write(`${OK}Content-Length: 10\r\n\r\n`),
      { status: 200, failure: "timeout", responseText: "" }
    ],
    [
      "answers 500 and stops in the middle",
      write("HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\nhalf"),
      { status: 500, failure: "timeout", responseText: "half" }
    ],
    [
      "never ends a body without a length",
      write(`${OK}\r\nopen end`),
      { status: 200, failure: "timeout", responseText: "open end" }
    ],
    [
      "ends a body without a length by closing",
      (socket) => socket.end(`${OK}\r\nopen end`),
      { status: 200, failure: null, responseText: "open end" }
    ],
    ["closes before any answer", (socket) => socket.end(), { status: null, failure: "reset" }],
    ["resets before any answer", writeAndReset(""), { status: null, failure: "reset" }],
    ["resets within the headers", writeAndReset(OK), { status: null, failure: "reset" }],
    [
      "resets after the headers",
      writeAndReset(`${OK}Content-Length: 10\r\n\r\nhalf`),
      { status: 200, failure: "reset" }
    ],
    [
      "closes before the end that its length promised",
      (socket) => socket.end(`${OK}Content-Length: 10\r\n\r\nhalf`),
      { status: 200, failure: "reset", responseText: "half" }
    ],
    ["speaks no HTTP", write("220 mail.example ESMTP\r\n"), { status: null, failure: "protocol" }],
    ["answers as HTTP/0.9", write("hello\r\n"), { status: null, failure: "protocol" }],
    [
      "sends two lengths that differ",
      write(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
      { status: null, failure: "protocol" }
    ],
    [
      "sends a broken chunk size",
      write(`${OK}Transfer-Encoding: chunked\r\n\r\nzz\r\n`),
      { status: 200, failure: "protocol" }
    ],
    ["answers 100", write("HTTP/1.1 100 Continue\r\n\r\n"), { status: null, failure: "protocol" }],
    [
      "switches protocols",
      write("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"),
      { status: null, failure: "protocol" }
    ],
    [
      "sends early hints first",
      write(`${"HTTP/1.1 103 Early Hints\r\n\r\n".repeat(3)}${OK}Content-Length: 2\r\n\r\nok`),
      { status: 200, failure: null, responseText: "ok" }
    ],
    [
      "sends a hundred 1xx answers",
      write(`${"HTTP/1.1 102 Processing\r\n\r\n".repeat(100)}${OK}Content-Length: 0\r\n\r\n`),
      { status: null, failure: "protocol" }
    ],
    [
      "sends more than it announced",
      write(`${OK}Content-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\n\r\n`),
      { status: 200, failure: null, responseText: "ok" }
    ]
  ]
  it.each(cases)("%s", async (_name, answer, expected) => {
    const ends = expected.failure === "timeout" ? "late" : "itself"
    assert.deepInclude(await attempt(answer, ends), expected)
  })

  it("drips an endless body", async () => {
    const outcome = await attempt((socket) => {
      socket.write(`${OK}\r\n`)
      drip(socket, "x", 50)
    }, "late")
    assert.deepInclude(outcome, { status: 200, failure: "timeout" })
    assert.match(outcome.responseText, /^x{2,10}$/)
  })

  const endless: ReadonlyArray<[number, AttemptOutcome["failure"]]> = [
    [200, null],
    [500, "status"],
    [302, "redirect"]
  ]
  it.each(endless)(
    "answers %i with an endless body is read no further than what is kept",
    async (status, failure) => {
      const poured = Promise.withResolvers<number>()
      const outcome = await attempt(async (socket) => {
        socket.write(`HTTP/1.1 ${status} X\r\n\r\n`)
        poured.resolve(await pour(socket, Buffer.alloc(64 * 1024, "x")))
      })
      assert.deepInclude(outcome, { status, failure, detail: null })
      assert.strictEqual(outcome.responseText, "x".repeat(KEPT_BYTES))
      assert.isBelow(await poured.promise, READ_BYTES_MOST)
    }
  )

  it.each([
    ["header", `${OK}a: `, "x"],
    ["number of headers", OK, "a: b\r\n"],
    ["flood of 1xx answers", "", "HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n"]
  ])("sends an endless %s is cut off", async (_what, start, repeated) => {
    const poured = Promise.withResolvers<number>()
    const outcome = await attempt(async (socket) => {
      socket.write(start)
      const times = Math.ceil((64 * 1024) / repeated.length)
      poured.resolve(await pour(socket, Buffer.from(repeated.repeat(times))))
    })
    assert.deepInclude(outcome, { status: null, failure: "protocol" })
    assert.isBelow(await poured.promise, READ_BYTES_MOST)
  })

  it("sends a header of 1 MB", async () => {
    const answer = { headers: { "X-Large": "x".repeat(1024 * 1024) } }
    assert.deepInclude(await attempt(answer), { status: null, failure: "protocol" })
  })

  it("sends a gzip bomb gets it kept as it came", async () => {
    const headers = { "Content-Encoding": "gzip", "Content-Length": GZIP.length }
    assert.isBelow(GZIP.length, KEPT_BYTES)
    const outcome = await attempt({ headers, body: GZIP })
    assert.deepInclude(outcome, { status: 200, failure: null })
    assert.isAtMost(Buffer.byteLength(outcome.responseText), KEPT_BYTES)
  })

  it("answers after we gave up changes nothing", async () => {
    const late = Promise.withResolvers<void>()
    await using receiver = await startReceiver({ answer: { after: late.promise } })
    await using sender = await startSender(SHORT)
    const outcome = await sender.send({ url: receiver.url })
    assert.deepInclude(outcome, { status: null, failure: "timeout" })
    const { closed } = await receiver.next()
    late.resolve()
    await closed
    assert.strictEqual((await sender.send({ url: receiver.url })).status, 200)
  })
})

describe("what is kept of an answer can be stored:", () => {
  const cases: ReadonlyArray<[string, Buffer, string]> = [
    [
      "bytes that are no UTF-8",
      Buffer.from([0x61, 0xff, 0xc0, 0x80, 0x62]),
      "a\uFFFD\uFFFD\uFFFDb"
    ],
    ["NUL", Buffer.from("a\0b"), "a\uFFFDb"],
    ["a surrogate", Buffer.from([0xed, 0xa0, 0x80]), "\uFFFD\uFFFD\uFFFD"],
    ["a truncated character", Buffer.from([0x61, 0xe2, 0x82]), "a\uFFFD"],
    [
      "a character that the cut goes through",
      Buffer.concat([Buffer.alloc(KEPT_BYTES - 1, "x"), Buffer.from("€€")]),
      "x".repeat(KEPT_BYTES - 1)
    ],
    [
      "16 KiB of which each byte becomes three",
      Buffer.alloc(KEPT_BYTES, 0xff),
      "\uFFFD".repeat(Math.floor(KEPT_BYTES / 3))
    ]
  ]
  it.each(cases)("%s", async (_name, body, expected) => {
    assert.strictEqual((await attempt({ status: 500, body })).responseText, expected)
  })
})

/** As people make them by hand: for the right name and time, but signed by nobody else. */
const issueSelfSigned = async (
  names: ReadonlyArray<string>,
  now: DateTime.Utc
): Promise<Issued> => {
  const keys = await webcrypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
    "sign",
    "verify"
  ])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    notBefore: DateTime.toDateUtc(DateTime.subtract(now, { days: 1 })),
    notAfter: DateTime.toDateUtc(DateTime.add(now, { days: 1 })),
    name: [{ CN: ["localhost"] }],
    keys,
    signingAlgorithm: { name: "ECDSA", hash: "SHA-256" },
    extensions: [
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns", value })))
    ]
  })
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)
  return { cert: certificate.toString("pem"), key: PemConverter.encode(key, "PRIVATE KEY") }
}

describe("TLS:", () => {
  const now = DateTime.nowUnsafe()
  const authority = issueAuthority(now)
  const attemptTls = async (tls: Issued, name = "localhost") => {
    await using receiver = await startReceiver({ tls })
    await using sender = await startSender({ ca: [(await authority).cert] })
    const outcome = await sender.send({ url: `https://${name}:${receiver.port}/` })
    return { ...outcome, received: receiver.received.length }
  }
  const issue = async (names: ReadonlyArray<string>, at = now) =>
    issueServerCertificate(await authority, names, at)

  it.each(["localhost", "127.0.0.1"])("a good certificate for %s delivers", async (name) => {
    const outcome = await attemptTls(await issue([name]), name)
    assert.deepInclude(outcome, { status: 200, failure: null, received: 1 })
  })

  const bad: ReadonlyArray<[string, () => Promise<Issued>, RegExp]> = [
    ["expired", () => issue(["localhost"], DateTime.subtract(now, { days: 800 })), /expired/],
    ["not valid yet", () => issue(["localhost"], DateTime.add(now, { days: 2 })), /not yet valid/],
    ["for another name", () => issue(["elsewhere.test", "10.0.0.1"]), /altnames/],
    ["self-signed", () => issueSelfSigned(["localhost"], now), /self-signed/],
    [
      "of an unknown authority",
      async () => issueServerCertificate(await issueAuthority(now), ["localhost"], now),
      /unable to (?:verify|get)/
    ]
  ]
  it.each(bad)(
    "a certificate that is %s fails before anything is sent",
    async (_name, tls, reason) => {
      const outcome = await attemptTls(await tls())
      assert.deepInclude(outcome, { status: null, failure: "tls", received: 0 })
      assert.match(outcome.detail ?? "", reason)
    }
  )

  it("plain HTTP where TLS is expected", async () => {
    await using receiver = await startReceiver()
    await using sender = await startSender()
    const outcome = await sender.send({ url: receiver.url.replace("http:", "https:") })
    // Without the place in this process's memory that OpenSSL's whole message names.
    assert.deepInclude(outcome, { status: null, failure: "tls", detail: "wrong version number" })
  })

  it("a connection that is reset in the handshake", async () => {
    await using server = await startSocketServer((socket) => {
      socket.once("data", () => socket.resetAndDestroy())
    })
    await using sender = await startSender()
    const outcome = await sender.send({ url: `https://localhost:${server.port}/` })
    assert.deepInclude(outcome, { status: null, failure: "tls" })
  })

  it("a handshake that never ends", async () => {
    await using server = await startSocketServer(() => {})
    await using sender = await startSender(SHORT)
    const outcome = await sender.send({ url: `https://localhost:${server.port}/` })
    assert.deepInclude(outcome, { status: null, failure: "timeout" })
  })
})

it("memory stays flat over hundreds of endless answers, and no connection is left", async () => {
  const chunk = Buffer.alloc(64 * 1024, "x")
  await using receiver = await startReceiver({
    answer: async (socket) => {
      socket.write(`${OK}\r\n`)
      await pour(socket, chunk)
    }
  })
  await using sender = await startSender()
  const round = async () => {
    for (let batch = 0; batch < 10; batch++) {
      const sent = Array.from({ length: 10 }, () => sender.send({ url: receiver.url }))
      for (const { status } of await Promise.all(sent)) assert.strictEqual(status, 200)
    }
    await Promise.all(receiver.received.map(({ closed }) => closed))
    return process.memoryUsage().rss
  }
  const warm = await round()
  const after = Math.max(await round(), await round(), await round())
  assert.isBelow(after - warm, 64 * 1024 * 1024)
})
