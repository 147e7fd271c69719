// The embedded PostgreSQL with real clusters in temporary folders: who starts it, who may stop it,
// and what is left after each kind of sudden death.

import { execFileSync, spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import {
  type EmbeddedPostgresOptions,
  joinEmbeddedPostgres,
  startEmbeddedPostgres
} from "../../src/platform/embeddedPostgres.ts"
import { ask, end, hold, holder, isRunning, postmasterPid, run } from "../support/cluster.ts"
import { withClient } from "../support/postgres.ts"

const isRoot = process.getuid?.() === 0
const settings = { fsync: "off" }
let workFolder = ""

beforeAll(() => {
  workFolder = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-platform-"))
  // A user without rights must be able to pass through to the cases below.
  fs.chmodSync(workFolder, 0o755)
})
afterAll(() => fs.rmSync(workFolder, { recursive: true, force: true }))

const start = (dataDir: string, more?: Partial<EmbeddedPostgresOptions>) =>
  startEmbeddedPostgres({ dataDir, settings, ...more })

const folder = (name: string) => path.join(workFolder, name)

describe("a service", () => {
  it.live("makes a private UTF-8 cluster on a Unix socket and leaves no process behind", () =>
    Effect.gen(function* () {
      const dataDir = folder("first")
      const scope = yield* Scope.make()
      // Without `settings`: this is what the service really uses.
      const connection = yield* startEmbeddedPostgres({ dataDir }).pipe(Scope.provide(scope))
      const pid = postmasterPid(dataDir)
      assert.deepStrictEqual(
        yield* ask(
          connection,
          `select current_database(), current_user, current_setting('server_version_num')::int / 10000,
             current_setting('server_encoding'), current_setting('listen_addresses'),
             current_setting('fsync'), current_setting('synchronous_commit'), upper('ä')`
        ),
        ["ledger", "ledger", 18, "UTF8", "", "on", "on", "Ä"]
      )
      const socketFolder = path.dirname(connection.path ?? "")
      const mode = (file: string) => fs.statSync(file).mode & 0o777
      assert.strictEqual(mode(dataDir) & 0o67, 0)
      assert.strictEqual(mode(path.join(dataDir, "postgres")), 0o700)
      assert.strictEqual(mode(path.join(dataDir, "postgres/password")), 0o600)
      assert.strictEqual(mode(socketFolder), 0o700)
      yield* Scope.close(scope, Exit.void)
      assert.isFalse(isRunning(pid))
      assert.isFalse(fs.existsSync(socketFolder))
    })
  )

  it.live("finds everything again after its PostgreSQL was killed", () =>
    Effect.gen(function* () {
      const dataDir = folder("killed-server")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { child, answer } = yield* hold(dataDir)
          assert.isDefined(answer.path)
          yield* Effect.promise(() => end(child, "SIGKILL"))
          yield* Effect.scoped(
            Effect.gen(function* () {
              const connection = yield* joinEmbeddedPostgres({ dataDir, settings })
              yield* run(connection, "create table kept as select 42 as answer")
              process.kill(postmasterPid(dataDir), "SIGKILL")
            })
          )
        })
      )
      const connection = yield* start(dataDir)
      assert.deepStrictEqual(yield* ask(connection, "select answer from kept"), [42])
    })
  )

  it.live.each(["SIGKILL", "SIGINT"] as const)(
    "starts PostgreSQL again, at the same address, when it gets a %s",
    (signal) =>
      Effect.gen(function* () {
        const dataDir = folder(`revived-${signal}`)
        const connection = yield* start(dataDir)
        const before = postmasterPid(dataDir)
        process.kill(before, signal)
        const answer = yield* Effect.tryPromise(() =>
          withClient(connection, (client) => client.query("select 1"))
        ).pipe(
          Effect.filterOrFail(() => postmasterPid(dataDir) !== before),
          Effect.eventually,
          Effect.timeout("8 seconds")
        )
        assert.strictEqual(answer.rowCount, 1)
      })
  )

  it.live("joins the PostgreSQL of a killed service, and stops it at its own end", () =>
    Effect.gen(function* () {
      const dataDir = folder("orphan")
      const { child, answer } = yield* hold(dataDir)
      const pid = postmasterPid(dataDir)
      yield* Effect.promise(() => end(child, "SIGKILL"))
      assert.isTrue(isRunning(pid))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* start(dataDir)
          assert.strictEqual(connection.path, answer.path)
          assert.strictEqual(postmasterPid(dataDir), pid)
        })
      )
      assert.isFalse(isRunning(pid))
    })
  )

  it.live("is refused a folder that another service holds, which goes on undisturbed", () =>
    Effect.gen(function* () {
      const dataDir = folder("held")
      const connection = yield* start(dataDir)
      const { answer } = yield* hold(dataDir)
      assert.strictEqual(answer.reason, "InUse")
      assert.include(
        answer.message,
        `${dataDir} is in use by another service (process ${process.pid})`
      )
      assert.deepStrictEqual(yield* ask(connection, "select 1"), [1])
    })
  )

  it.live("of two starts at once on a fresh folder one serves and one is refused", () =>
    Effect.gen(function* () {
      const dataDir = folder("race")
      const both = yield* Effect.all([hold(dataDir), hold(dataDir)], { concurrency: 2 })
      const answers = both.map(({ answer }) => answer)
      assert.strictEqual(answers.filter(({ path: socket }) => socket !== undefined).length, 1)
      assert.strictEqual(answers.filter(({ reason }) => reason === "InUse").length, 1)
      assert.deepStrictEqual(fs.readdirSync(dataDir), ["postgres"])
    })
  )

  it.live("takes a data folder whose path is too long for a Unix socket", () =>
    Effect.gen(function* () {
      const dataDir = folder(`${"long-".repeat(30)}/ledger data`)
      const connection = yield* start(dataDir)
      assert.deepStrictEqual(yield* ask(connection, "select 1"), [1])
    })
  )

  it.live(
    "is not misled by a note of a dead PostgreSQL whose number belongs to another process",
    () =>
      Effect.gen(function* () {
        const dataDir = folder("reused-pid")
        yield* Effect.scoped(start(dataDir))
        const other = yield* Effect.acquireRelease(
          Effect.sync(() => spawn("sleep", ["60"], sleeperOptions(dataDir))),
          (child) => Effect.promise(() => end(child, "SIGKILL"))
        )
        const note = path.join(dataDir, "postgres/data/postmaster.pid")
        fs.writeFileSync(
          note,
          `${other.pid}\n${dataDir}/postgres/data\n1\n5432\n/nowhere\n\n\nready\n`
        )
        const connection = yield* start(dataDir)
        assert.deepStrictEqual(yield* ask(connection, "select 1"), [1])
        assert.isNull(other.exitCode)
      })
  )
})

/** The sleeper runs as the cluster's user: only then does PostgreSQL itself believe the note. */
const sleeperOptions = (dataDir: string) => {
  const { gid, uid } = fs.statSync(path.join(dataDir, "postgres"))
  return { stdio: "ignore" as const, cwd: "/", ...(isRoot ? { gid, uid } : {}) }
}

describe("a command", () => {
  it.live("joins the running service and leaves it running", () =>
    Effect.gen(function* () {
      const dataDir = folder("command-joins")
      const service = yield* start(dataDir)
      const joined = yield* Effect.scoped(joinEmbeddedPostgres({ dataDir, settings }))
      assert.strictEqual(joined.path, service.path)
      assert.deepStrictEqual(yield* ask(service, "select 1"), [1])
    })
  )

  it.live("alone starts the cluster; the last of several stops it", () =>
    Effect.gen(function* () {
      const dataDir = folder("commands")
      const first = yield* Scope.make()
      const second = yield* Scope.make()
      yield* joinEmbeddedPostgres({ dataDir, settings }).pipe(Scope.provide(first))
      const connection = yield* joinEmbeddedPostgres({ dataDir, settings }).pipe(
        Scope.provide(second)
      )
      const pid = postmasterPid(dataDir)
      yield* Scope.close(first, Exit.void)
      assert.deepStrictEqual(yield* ask(connection, "select 1"), [1])
      yield* Scope.close(second, Exit.void)
      assert.isFalse(isRunning(pid))
    })
  )

  it.live("hands the cluster that it started over to a service", () =>
    Effect.gen(function* () {
      const dataDir = folder("handed-over")
      const command = yield* Scope.make()
      yield* joinEmbeddedPostgres({ dataDir, settings }).pipe(Scope.provide(command))
      const service = yield* start(dataDir)
      yield* Scope.close(command, Exit.void)
      assert.deepStrictEqual(yield* ask(service, "select 1"), [1])
    })
  )
})

/** In a clone under a closed home nobody but root can even start the program of this test. */
const strangersCanRead =
  isRoot &&
  spawnSync(process.execPath, ["--check", holder], { cwd: "/", uid: 54_321, gid: 54_321 })
    .status === 0

describe("as root", () => {
  it.live.runIf(isRoot)(
    "uses a folder outside when the PostgreSQL user cannot reach the data",
    () =>
      Effect.gen(function* () {
        const closed = folder("closed-home")
        fs.mkdirSync(closed, { mode: 0o700 })
        const dataDir = path.join(closed, "clone/.ledger")
        yield* Effect.scoped(
          Effect.flatMap(start(dataDir), (connection) => run(connection, "create table kept ()"))
        )
        const outside = fs.readFileSync(path.join(dataDir, "postgres-folder"), "utf8").trim()
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => fs.rmSync(path.dirname(outside), { recursive: true, force: true }))
        )
        assert.match(outside, /^\/var\/lib\/workspace-ledger\/[0-9a-f]{16}\/postgres$/)
        const again = yield* start(dataDir)
        assert.deepStrictEqual(yield* ask(again, "select count(*)::int from kept"), [0])
      })
  )

  it.live.runIf(isRoot && strangersCanRead)("names DATABASE_URL to a user without an account", () =>
    Effect.gen(function* () {
      const dataDir = folder("no-account")
      fs.mkdirSync(dataDir)
      fs.chownSync(dataDir, 54_321, 54_321)
      const { answer } = yield* hold(dataDir, { uid: 54_321, gid: 54_321 })
      assert.strictEqual(answer.reason, "Unsupported")
      assert.include(answer.message, "user id 54321 has no entry in the passwd database")
      assert.include(answer.message, "Set DATABASE_URL")
    })
  )

  it.live.runIf(isRoot)("runs a cluster of an ordinary user as that user", () =>
    Effect.gen(function* () {
      const dataDir = folder("owned")
      yield* Effect.scoped(start(dataDir))
      const uid = Number(execFileSync("id", ["-u", "nobody"], { encoding: "utf8" }))
      execFileSync("chown", ["-R", String(uid), path.join(dataDir, "postgres")])
      fs.chmodSync(dataDir, 0o755)
      const connection = yield* start(dataDir)
      assert.deepStrictEqual(yield* ask(connection, "select 1"), [1])
      assert.strictEqual(fs.statSync(path.join(dataDir, "postgres/postgres.log")).uid, uid)
    })
  )
})
