// The receivers in examples/, run as a reader runs them, against what the service's sender sends.
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { assert, describe, it } from "vitest"
import { signCallback } from "../../src/workers/signature.ts"
import { startSender } from "../workers/sender.ts"

const ROOT = path.resolve(import.meta.dirname, "../..")
const SECRET = "the secret of the example"

const BODY = JSON.stringify({
  event: "commitment.state_changed",
  timestamp: "2026-11-20T10:00:00.000Z",
  workspace: { id: "00000000-0000-4000-8000-000000000000", name: "default" },
  commitment: { id: "cmt_1", title: "Grüße", previousState: "open", currentState: "claimed" }
})

const startExample = async (command: string, file: string) => {
  const child = spawn(command, [path.join(ROOT, "examples", file)], {
    env: { ...process.env, PORT: "0", WEBHOOK_SECRET: SECRET, PYTHONUTF8: "1" },
    stdio: ["ignore", "pipe", "inherit"]
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  const stop = async () => {
    const exited = once(child, "exit")
    child.kill()
    await exited
  }
  const url = (await nextLine()).replace("receiving on ", "")
  return { url, nextLine, [Symbol.asyncDispose]: stop }
}

const sign = (body: string, ...secrets: ReadonlyArray<string>) =>
  signCallback({ body, secrets, webhookId: "evt_1", timestampSeconds: 1_700_000_000 })

const hasPython = spawnSync("python3", ["--version"]).status === 0

describe.each([
  { command: process.execPath, file: "receiver.ts", runs: true },
  // The only thing here that a machine with Node alone does not have.
  { command: "python3", file: "receiver.py", runs: hasPython }
])("$file", ({ command, file, runs }) => {
  it.runIf(runs)("takes genuine events once, and answers 401 to everything else", async () => {
    await using example = await startExample(command, file)
    await using sender = await startSender()
    const { url } = example
    const send = async (headers: Record<string, string>, body = BODY) =>
      (await sender.send({ url, body, headers })).status

    assert.strictEqual(await send(sign(BODY, "another")), 401)
    assert.strictEqual(await send({}), 401)
    assert.strictEqual(await send(sign(BODY, SECRET), `${BODY} `), 401)
    assert.strictEqual(await send(sign(BODY, SECRET)), 204)
    assert.strictEqual(await send(sign(BODY, SECRET)), 204)
    const later = BODY.replace("10:00", "11:00").replace("cmt_1", "cmt_2")
    assert.strictEqual(await send(sign(later, "new", SECRET), later), 204)

    assert.strictEqual(await example.nextLine(), "cmt_1 open -> claimed: Grüße")
    assert.strictEqual(await example.nextLine(), "cmt_2 open -> claimed: Grüße")
  })
})
