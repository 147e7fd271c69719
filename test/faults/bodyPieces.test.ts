// Bodies sent a byte at a time, in chunks of HTTP: kept as they come, each byte would take some hundred
// bytes of memory, and a handful of clients would end the process.
import * as fs from "node:fs"
import { assert, it } from "vitest"
import { createDatabase } from "../support/postgres.ts"
import { startProgram } from "../support/program.ts"
import { rawRequest, startTalk } from "../support/rawHttp.ts"
import { makeFolder, SERVICE_SETTINGS } from "./embedded.ts"

const capture = '{"op":"capture","body":"byte by byte"}'
const pieces = (text: string) =>
  [...text]
    .map((character) => `1\r\n${character}\r\n`)
    .join("")
    .concat("0\r\n\r\n")

it("the largest bodies, a byte at a time, are performed in a process with little memory", async () => {
  const folder = makeFolder()
  const database = await createDatabase()
  try {
    // What it needs to start is half of it; two such bodies as objects of a byte each are twice as much.
    await using program = startProgram(["--max-old-space-size=160", "src/main.ts"], {
      ...SERVICE_SETTINGS,
      LEDGER_PORT: "0",
      LEDGER_DATA_DIR: folder,
      DATABASE_URL: database.url
    })
    const baseUrl = await program.baseUrl
    const bytes = rawRequest(
      "POST /ops HTTP/1.1",
      ["Content-Type: application/json", "Transfer-Encoding: chunked"],
      pieces(capture.padEnd(1024 * 1024, " "))
    )
    const talks = [startTalk(baseUrl, bytes), startTalk(baseUrl, bytes)]
    const replies = await Promise.all(talks.map((talk) => talk.reply()))
    assert.deepStrictEqual(
      replies.map(({ status }) => status),
      [200, 200],
      program.output()
    )
    for (const talk of talks) talk.leave()
    assert.strictEqual(await program.stop(), 0, program.output())
  } finally {
    await database.drop()
    fs.rmSync(folder, { recursive: true, force: true })
  }
})
