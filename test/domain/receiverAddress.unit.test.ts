// The private-network guard as tables: every spelling of an address that is not public is refused,
// and LEDGER_WEBHOOK_ALLOW lets through what it names and nothing else.
import { Result } from "effect"
import { assert, describe, it } from "vitest"
import {
  type AllowList,
  isAllowedAddress,
  LOOPBACK_ALLOWED,
  parseAllowList,
  refusedUrl
} from "../../src/domain/receiverAddress.ts"

const allow = (text: string): AllowList => Result.getOrThrow(parseAllowList(text))

/** Outside and inside edges of each range that is not public, beside its middle. */
const NOT_PUBLIC = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.1.2.3", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.1", "127.255.255.255"],
  ["169.254.0.0", "169.254.169.254", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255", "192.0.2.1", "192.88.99.1"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255", "198.51.100.7", "203.0.113.7"],
  ["224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.254", "255.255.255.255"],
  ["::", "::1", "::7f00:1", "::127.0.0.1"],
  ["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"],
  ["::ffff:0:127.0.0.1"],
  ["64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8", "64:ff9b:1::1", "64:ff9b:1:ffff::"],
  ["100::1", "2001:db8::1", "3fff::1", "3fff:fff:ffff::"],
  ["2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:0:7f00:1::"],
  ["5f00::1", "fc00::1", "fdff::1", "fe80::1", "febf::1", "fec0::1", "feff::1"],
  ["ff02::1", "ffff::1", "4000::1", "1::1"]
].flat()

const PUBLIC = [
  ["1.0.0.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"],
  ["126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255"],
  ["172.32.0.0", "191.255.255.255", "192.167.255.255", "192.169.0.0", "198.17.255.255"],
  ["198.20.0.0", "223.255.255.255", "::ffff:8.8.8.8"],
  ["2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450::1", "2003::1"]
].flat()

const literal = (address: string) => (address.includes(":") ? `[${address}]` : address)

describe("an address", () => {
  it.each(NOT_PUBLIC)("%s is not public", (address) => {
    assert.isFalse(isAllowedAddress("receiver.example", address, []))
    const refusal = refusedUrl(`https://${literal(address)}/hook`, [])
    assert.include(refusal, "LEDGER_WEBHOOK_ALLOW")
  })

  it.each(PUBLIC)("%s is public", (address) => {
    assert.isTrue(isAllowedAddress("receiver.example", address, []))
    assert.isUndefined(refusedUrl(`https://${literal(address)}/hook`, []))
  })

  it.each(["", "localhost", "0x7f.1", "2130706433", "127.1", "010.0.0.1", "fe80::1%eth0", "8.8.8"])(
    "that a resolver spells %j is not dialled",
    (address) => {
      assert.isFalse(isAllowedAddress("receiver.example", address, []))
    }
  )
})

describe("a URL is refused", () => {
  it.each([
    "https://0x7f.1/",
    "https://0x7f000001/",
    "https://0x7F.0x0.0x0.0x1/",
    "https://2130706433/",
    "https://017700000001/",
    "https://127.1/",
    "https://127.0.1/",
    "https://0177.0.0.1/",
    "https://0/",
    "https://00000000.0/",
    "https://①②⑦.⓪.⓪.①/",
    "https://127。0。0。1/",
    "https://１２７.0.0.1/",
    "https://%31%32%37.0.0.1/",
    "https://127.0.0.1./",
    "https:/\\127.0.0.1/",
    "https:127.0.0.1/",
    "https:\\\\127.0.0.1\\",
    " https://127.0.0.1/ ",
    "ht\ntps://127.0.\t0.1/",
    "HTTPS://127.0.0.1:8443/hook",
    "https://0xa9fea9fe/latest/meta-data/",
    "https://[::]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[0:0:0:0:0:ffff:7f00:0001]/",
    "https://[::127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[fe80::1]/",
    "https://localhost/",
    "https://LOCALHOST:8443/",
    "https://localhoſt/",
    "https://ledger.localhost/",
    "https://localhost.localdomain/",
    "https://localhost6/",
    "https://ip6-loopback/"
  ])("as not public: %j", (url) => {
    assert.match(refusedUrl(url, []) ?? "", /is not public.*LEDGER_WEBHOOK_ALLOW/)
  })

  const forms: ReadonlyArray<[string, RegExp]> = [
    ["", /absolute URL/],
    ["receiver.example/hook", /absolute URL/],
    ["/hook", /absolute URL/],
    ["//receiver.example/hook", /absolute URL/],
    ["https://", /absolute URL/],
    ["https://1.2.3.4.5/", /absolute URL/],
    ["https://256.1.1.1/", /absolute URL/],
    ["https://[fe80::1%25eth0]/", /absolute URL/],
    ["https://receiver.example:65536/", /absolute URL/],
    ["https://exa mple.com/", /absolute URL/],
    ["https://[::1/", /absolute URL/],
    ["ftp://receiver.example/", /http: or https:/],
    ["ws://receiver.example/", /http: or https:/],
    ["file:///etc/passwd", /http: or https:/],
    ["data:text/plain,x", /http: or https:/],
    ["javascript:alert(1)", /http: or https:/],
    ["gopher://127.0.0.1:6379/_x", /http: or https:/],
    ["https://user@receiver.example/", /user name or password/],
    ["https://:secret@receiver.example/", /user name or password/],
    ["https://receiver.example@127.0.0.1/", /user name or password/],
    ["https://receiver.example/#part", /fragment/],
    ["https://receiver.example:0/", /port 0/],
    ["https://receiver.example:22/", /port 22/],
    ["https://receiver.example:25/", /port 25/],
    ["https://receiver.example:6667/", /port 6667/],
    ["https://receiver.example./", /end with a dot/],
    ["https://receiver..example/", /empty part/],
    ["https://localhost./", /end with a dot/],
    [`https://receiver.example/${"x".repeat(2_048)}`, /2048 characters/],
    ["http://receiver.example/", /https: URL.*LEDGER_WEBHOOK_ALLOW/],
    ["http://8.8.8.8/", /https: URL.*LEDGER_WEBHOOK_ALLOW/]
  ]
  it.each(forms)("for its form: %j", (url, reason) => {
    assert.match(refusedUrl(url, []) ?? "", reason)
  })
})

it.each([
  "https://receiver.example/hook?token=1",
  "https://RECEIVER.example:8443/a%20b",
  "https://bücher.example/",
  "https://xn--bcher-kva.example/",
  "https://localhost.example/",
  "https://notlocalhost/",
  "https://127.0.0.1.nip.example/",
  "https://8.8.8.8/",
  `https://receiver.example/${"x".repeat(2_048 - "https://receiver.example/".length)}`
])("a URL may be a receiver: %.80s", (url) => {
  assert.isUndefined(refusedUrl(url, []))
})

describe("LEDGER_WEBHOOK_ALLOW", () => {
  const rows: ReadonlyArray<[string, string, "let through" | "refused"]> = [
    ["loopback", "http://127.0.0.1:9000/", "let through"],
    ["loopback", "http://127.8.9.10/", "let through"],
    ["loopback", "http://[::1]:9000/", "let through"],
    ["loopback", "http://[::ffff:127.0.0.1]/", "let through"],
    ["loopback", "http://localhost:9000/", "let through"],
    ["loopback", "https://ledger.localhost/", "let through"],
    ["loopback", "http://localhost.localdomain/", "let through"],
    ["loopback", "http://2130706433/", "let through"],
    ["loopback", "http://0.0.0.0/", "refused"],
    ["loopback", "https://10.0.0.1/", "refused"],
    ["loopback", "https://169.254.169.254/", "refused"],
    ["loopback", "http://receiver.example/", "refused"],
    ["127.0.0.1", "http://127.0.0.1/", "let through"],
    ["127.0.0.1", "http://127.0.0.2/", "refused"],
    ["127.0.0.1", "http://localhost/", "let through"],
    ["10.0.0.0/8", "http://10.255.0.1/", "let through"],
    ["10.0.0.0/8", "https://[::ffff:10.0.0.1]/", "let through"],
    ["10.0.0.0/8", "https://11.0.0.1/", "let through"],
    ["10.0.0.0/8", "http://11.0.0.1/", "refused"],
    ["10.0.0.0/8", "https://192.168.0.1/", "refused"],
    ["10.0.0.0/8", "https://localhost/", "refused"],
    ["fd00::/8", "http://[fd12:3456::1]/", "let through"],
    ["fd00::/8", "https://[fc00::1]/", "refused"],
    ["receiver.lan", "http://receiver.lan:8080/", "let through"],
    ["receiver.lan", "http://RECEIVER.lan/", "let through"],
    ["Receiver.LAN", "http://receiver.lan/", "let through"],
    ["receiver.lan", "http://other.receiver.lan/", "refused"],
    ["receiver.lan", "http://receiver.lan.example/", "refused"],
    ["bücher.example", "http://xn--bcher-kva.example/", "let through"],
    [" loopback , 10.0.0.0/8 ,receiver.lan,", "http://10.0.0.1/", "let through"],
    ["0.0.0.0/0,::/0", "http://169.254.169.254/", "let through"],
    ["", "http://127.0.0.1/", "refused"]
  ]
  it.each(rows)("%j: %s is %s", (text, url, expected) => {
    const refusal = refusedUrl(url, allow(text))
    assert.strictEqual(refusal === undefined ? "let through" : "refused", expected, refusal)
  })

  const dialled: ReadonlyArray<[string, string, string, boolean]> = [
    ["receiver.lan", "receiver.lan", "192.168.0.7", true],
    ["receiver.lan", "receiver.lan", "169.254.169.254", true],
    ["receiver.lan", "other.lan", "192.168.0.7", false],
    ["192.168.0.0/24", "other.lan", "192.168.0.7", true],
    ["192.168.0.0/24", "other.lan", "192.168.1.7", false],
    ["loopback", "receiver.example", "127.0.0.1", true],
    ["loopback", "localhost", "::1", true],
    ["loopback", "localhost", "8.8.8.8", false],
    ["", "localhost", "8.8.8.8", false],
    ["", "receiver.example", "8.8.8.8", true]
  ]
  it.each(dialled)("%j: for %s, %s may be dialled: %s", (text, host, address, expected) => {
    assert.strictEqual(isAllowedAddress(host, address, allow(text)), expected)
  })

  it.each([
    "10.0.0.0/33",
    "10.0/8",
    "0x7f.1",
    "2130706433",
    "010.0.0.1",
    "fd00::/129",
    "[::1]",
    "http://receiver.lan",
    "receiver.lan:8080",
    "receiver.lan/hook",
    "user@receiver.lan",
    "*.receiver.lan",
    "receiver.lan.",
    "none",
    "two words"
  ])("with %j is a mistake that is named", (word) => {
    const problem = Result.match(parseAllowList(`loopback,${word}`), {
      onSuccess: () => "none",
      onFailure: (problem) => problem
    })
    assert.include(problem, `"${word}" is neither`)
  })

  it("none lets nothing through", () => {
    assert.deepEqual(allow(" none "), [])
  })

  it("loopback is the default of a service on loopback", () => {
    assert.deepEqual(allow("loopback"), LOOPBACK_ALLOWED)
  })
})
