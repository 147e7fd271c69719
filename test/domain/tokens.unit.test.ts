// Tokens: recognisable, checked before any look into the database, and told apart by their prefix.
import { assert, describe, it } from "vitest"
import {
  actorOf,
  generateToken,
  hashToken,
  isTokenShaped,
  makeTokenRecord
} from "../../src/domain/tokens.ts"

describe("a generated token", () => {
  it("has the prefix that scanners know, and its checksum fits", () => {
    const token = generateToken()
    assert.match(token, /^wlt_[0-9A-Za-z]{39}$/)
    assert.isTrue(isTokenShaped(token))
  })

  it("is refused with any one character changed", () => {
    const token = generateToken()
    for (let index = 4; index < token.length; index++) {
      const other = token[index] === "0" ? "1" : "0"
      assert.isFalse(isTokenShaped(token.slice(0, index) + other + token.slice(index + 1)))
    }
  })

  it("is stored as its SHA-256 and shown as its first characters", () => {
    const token = generateToken()
    const record = makeTokenRecord({
      workspaceId: "w",
      id: "tok_1",
      token,
      label: null,
      role: "member",
      now: 1
    })
    assert.deepStrictEqual(record.hash, hashToken(token))
    assert.notInclude(JSON.stringify(record), token)
    assert.strictEqual(record.prefix, token.slice(0, 10))
  })
})

describe("what can be a token at all", () => {
  it.each([
    ["32 characters of a bootstrap token", "x".repeat(32), true],
    ["31 characters", "x".repeat(31), false],
    ["512 characters", "x".repeat(512), true],
    ["513 characters", "x".repeat(513), false],
    ["a space", `${"x".repeat(40)} y`, false],
    ["a character outside ASCII", `${"x".repeat(40)}é`, false],
    ["our prefix without our checksum", `wlt_${"x".repeat(39)}`, false]
  ])("%s", (_, token, expected) => {
    assert.strictEqual(isTokenShaped(token), expected)
  })
})

describe("the actor of a token (D21)", () => {
  it("is its label, else token:<prefix>", () => {
    assert.strictEqual(actorOf({ label: "human:jane", prefix: "wlt_abcdef" }), "human:jane")
    assert.strictEqual(actorOf({ label: null, prefix: "wlt_abcdef" }), "token:wlt_abcdef")
  })
})
