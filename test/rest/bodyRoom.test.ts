// How much of request bodies the service holds at once: what has no room is refused for now, small
// bodies keep going while large ones fill the room, and room comes back.
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import {
  type RawReply,
  rawOperation,
  rawRequest,
  startTalk,
  type Talk
} from "../support/rawHttp.ts"
import { startService, type TestService } from "../support/service.ts"
import { assertPerformed, assertRefused, operationCount } from "./expectations.ts"

const KIB = 1024
const LARGEST = 1024 * KIB
/** As many of the largest bodies as there is room for: 48 MiB, and 16 more for small ones. */
const ROOM_FOR_LARGE = 48
/** The largest body that is small. */
const SMALL = 64 * KIB
const ROOM_FOR_SMALL = 16 * 16

const capture = '{"op":"capture","body":"there was room"}'

let service: TestService
let talks: Array<Talk>
beforeEach(async () => {
  service = await startService()
  talks = []
})
afterEach(async () => {
  for (const talk of talks) talk.leave()
  await service.stop()
})

/** Announces a body; the answer is `100 Continue` when there is room for it. */
const announce = async (length: number, path = "/ops"): Promise<readonly [Talk, RawReply]> => {
  const talk = startTalk(
    service.baseUrl,
    rawRequest(`POST ${path} HTTP/1.1`, [
      "Content-Type: application/json",
      `Content-Length: ${length}`,
      "Expect: 100-continue"
    ])
  )
  talks.push(talk)
  return [talk, await talk.reply()]
}

/** Announces so many bodies, which all find room. */
const fill = async (count: number, length: number): Promise<ReadonlyArray<Talk>> => {
  const announced = await Promise.all(Array.from({ length: count }, () => announce(length)))
  for (const [, reply] of announced) assert.strictEqual(reply.status, 100, reply.text)
  return announced.map(([talk]) => talk)
}

const assertNoRoom = (reply: RawReply) => {
  assertRefused(reply, "SERVER_ERROR", ["room", "Nothing was performed; try again."])
  assert.strictEqual(reply.headers["retry-after"], "1")
}

/** Room that somebody has left is there a moment later: asks until it is. */
const untilRoom = async (length: number): Promise<Talk> => {
  for (;;) {
    const [talk, reply] = await announce(length)
    if (reply.status === 100) return talk
    assertNoRoom(reply)
  }
}

describe("when large bodies fill the room", () => {
  it("the next large one is 500 with Retry-After, at both doors, and is not read", async () => {
    await fill(ROOM_FOR_LARGE, LARGEST)
    const [talk, refused] = await announce(LARGEST)
    assertNoRoom(refused)
    assert.strictEqual(refused.headers.connection, "close")
    await talk.ended
    const [, ofTrpc] = await announce(LARGEST, "/trpc/ops")
    assert.deepStrictEqual(
      [ofTrpc.status, ofTrpc.body.error.data.code, ofTrpc.headers["retry-after"]],
      [500, "SERVER_ERROR", "1"]
    )
    assert.strictEqual(await operationCount(service), 0)
  })

  it("a large one that does not wait for 100 Continue is let past, and the connection is kept", async () => {
    await fill(ROOM_FOR_LARGE, LARGEST)
    const body = capture.padEnd(LARGEST, " ")
    const talk = startTalk(
      service.baseUrl,
      rawRequest(
        "POST /ops HTTP/1.1",
        ["Content-Type: application/json", `Content-Length: ${LARGEST}`],
        body.slice(0, -1)
      )
    )
    talks.push(talk)
    assertNoRoom(await talk.reply())
    talk.write(body.slice(-1))
    talk.write(rawRequest("GET /status HTTP/1.1"))
    const status = await talk.reply()
    assert.deepStrictEqual([status.status, status.body.data.ledger.total_operations], [200, 0])
  })

  it("without a valid token the answer is 401, whatever the room", async () => {
    await fill(ROOM_FOR_LARGE, LARGEST)
    const anonymous = rawOperation(capture.padEnd(LARGEST, " "))
      .toString()
      .replace(/X-Proxy-Token: .*\r\n/, "")
    for (let time = 0; time <= ROOM_FOR_LARGE; time++) {
      const talk = startTalk(service.baseUrl, anonymous)
      talks.push(talk)
      assertRefused(await talk.reply(), "UNAUTHORIZED")
    }
  })

  it("small ones are performed", async () => {
    await fill(ROOM_FOR_LARGE, LARGEST)
    for (const length of [capture.length, SMALL]) {
      const [talk, reply] = await announce(length)
      assert.strictEqual(reply.status, 100)
      talk.write(capture.padEnd(length, " "))
      assertPerformed(await talk.reply())
    }
  })

  it("what was refused is performed when it comes again, once one of them has ended", async () => {
    const [first = assert.fail("none")] = await fill(ROOM_FOR_LARGE, LARGEST)
    assertNoRoom((await announce(LARGEST))[1])
    first.write(capture.padEnd(LARGEST, " "))
    assertPerformed(await first.reply())
    const [again, reply] = await announce(LARGEST)
    assert.strictEqual(reply.status, 100)
    again.write(capture.padEnd(LARGEST, " "))
    assertPerformed(await again.reply())
    assert.strictEqual(await operationCount(service), 2)
  })

  it("a body that is refused for what it holds gives its room back too", async () => {
    const [first = assert.fail("none")] = await fill(ROOM_FOR_LARGE, LARGEST)
    first.write("{bad".padEnd(LARGEST, " "))
    assertRefused(await first.reply(), "INVALID_REQUEST")
    assert.strictEqual((await announce(LARGEST))[1].status, 100)
  })

  it.each([
    ["reset their connections", (talk: Talk) => talk.leave()],
    ["shut down their writing side", (talk: Talk) => talk.end()]
  ])("all the room comes back when clients %s", async (_how, go) => {
    for (let round = 0; round < 3; round++) {
      const held = await fill(ROOM_FOR_LARGE, LARGEST)
      assertNoRoom((await announce(LARGEST))[1])
      for (const talk of held) go(talk)
      await Promise.all(held.map(({ ended }) => ended))
      const room = await Promise.all(
        Array.from({ length: ROOM_FOR_LARGE }, () => untilRoom(LARGEST))
      )
      for (const talk of room) talk.leave()
      await Promise.all(room.map(({ ended }) => ended))
      await operationCount(service)
    }
    assert.strictEqual(await operationCount(service), 0)
  })
})

describe("a body in chunks takes its room as it grows", () => {
  const chunk = (size: number) => `${size.toString(16)}\r\n${" ".repeat(size)}\r\n`
  const start = () => {
    const talk = startTalk(
      service.baseUrl,
      rawRequest("POST /ops HTTP/1.1", [
        "Content-Type: application/json",
        "Transfer-Encoding: chunked"
      ])
    )
    talks.push(talk)
    return talk
  }

  const last = `${capture.length.toString(16)}\r\n${capture}\r\n0\r\n\r\n`

  /** Takes the last room for large ones with a body that has not ended. */
  const takeTheLast = async (): Promise<Talk> => {
    for (;;) {
      const talk = start()
      talk.write(chunk(LARGEST - KIB))
      const [other, reply] = await announce(LARGEST)
      if (reply.status === 500) return talk
      // The other one was faster: both begin anew.
      for (const each of [talk, other]) each.leave()
      await Promise.all([talk.ended, other.ended])
    }
  }

  it("it keeps out as much as it holds, until it has been read", async () => {
    await fill(ROOM_FOR_LARGE - 1, LARGEST)
    const talk = await takeTheLast()
    assertNoRoom((await announce(LARGEST))[1])
    talk.write(last)
    assertPerformed(await talk.reply())
    assert.strictEqual((await announce(LARGEST))[1].status, 100)
  })

  it("it is refused once it is no longer small, and gives back what it had", async () => {
    await fill(ROOM_FOR_LARGE, LARGEST)
    // More often than there is room for small ones.
    for (let time = 0; time <= ROOM_FOR_SMALL; time++) {
      const talk = start()
      talk.write(chunk(SMALL + 1))
      assertNoRoom(await talk.reply())
      await talk.ended
    }
    assert.strictEqual((await announce(SMALL))[1].status, 100)
    assert.strictEqual(await operationCount(service), 0)
  })

  it("a small one is performed while large ones fill the room", async () => {
    await fill(ROOM_FOR_LARGE, LARGEST)
    const talk = start()
    talk.write(last)
    assertPerformed(await talk.reply())
  })
})

it("when small bodies take the last of the room, they are refused in the same way", async () => {
  await fill(ROOM_FOR_LARGE, LARGEST)
  const [first = assert.fail("none")] = await fill(ROOM_FOR_SMALL, SMALL)
  const [, refused] = await announce(SMALL)
  assertNoRoom(refused)
  assert.strictEqual((await service.get("/status")).status, 200)
  first.write(capture.padEnd(SMALL, " "))
  assertPerformed(await first.reply())
  assert.strictEqual((await announce(SMALL))[1].status, 100)
})
