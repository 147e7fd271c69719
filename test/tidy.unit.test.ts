// Style is a test: what may import what, how long files and functions may be, and what is not
// written here, with what to write instead.
import * as fs from "node:fs"
import * as path from "node:path"
import ts from "typescript"
import { assert, describe, it } from "vitest"

const ROOT = path.resolve(import.meta.dirname, "..")
const SOURCES = fs
  .globSync("src/**/*.ts", { cwd: ROOT })
  .map((file) => file.split(path.sep).join("/"))
  .sort()
const read = (file: string) => fs.readFileSync(path.join(ROOT, file), "utf8")
const parse = (file: string) => ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true)

/** Where a file may import from: the first rule whose prefix fits. Names are prefixes of specifiers. */
const IMPORT_RULES: ReadonlyArray<{ under: string; may: ReadonlyArray<string> }> = [
  { under: "src/domain/store/", may: ["effect", "@effect/sql-pg", "node:crypto", "src/domain/"] },
  {
    under: "src/domain/",
    may: [
      "effect",
      "zod",
      "canonicalize",
      "typeid-js",
      "uuid",
      "node:crypto",
      "node:zlib",
      "ipaddr.js",
      "src/domain/"
    ]
  },
  {
    under: "src/rpc/",
    may: ["effect", "zod", "@trpc/server", "trpc-to-openapi", "src/domain/", "src/rpc/"]
  },
  {
    under: "src/rest/",
    may: [
      "effect",
      "zod",
      "@trpc/server",
      "trpc-to-openapi",
      "node:",
      "src/domain/",
      "src/rpc/",
      "src/rest/",
      "src/version.ts"
    ]
  },
  {
    under: "src/workers/",
    may: ["effect", "node:", "undici", "ipaddr.js", "src/domain/", "src/workers/"]
  },
  {
    under: "src/platform/",
    may: [
      "effect",
      "@effect/",
      "@peculiar/x509",
      "reflect-metadata",
      "node:",
      "src/platform/",
      "src/config.ts",
      "src/domain/store/migrate.ts",
      "src/domain/store/server.ts"
    ]
  },
  {
    under: "src/client.ts",
    may: [
      "src/webhookVerification.ts",
      "@trpc/client",
      "undici",
      "node:",
      "src/domain/",
      "src/rpc/"
    ]
  },
  { under: "src/", may: [""] }
]

const BANNED: ReadonlyArray<{ pattern: RegExp; instead: string; except?: RegExp }> = [
  {
    pattern: /\bDate\.now\b|\bnew Date\b/,
    instead: "LedgerClock, Clock or DateTime",
    // Runs at the receiver, without Effect.
    except: /^src\/webhookVerification\.ts$/
  },
  { pattern: /\bMath\.random\b/, instead: "node:crypto, or Effect's Random" },
  {
    pattern: /\bsetTimeout\b|\bsetInterval\b/,
    instead: "Effect.sleep or Schedule",
    // What is about sockets is in real time, also where a test moves the Clock.
    except: /^src\/(?:workers\/receiverExchange|rest\/requestContext)\.ts$/
  },
  {
    // A template of one line is already "" where this is looked for.
    pattern: /\bsql(?:<.*>)?(?:`|"")/,
    instead: "a function of src/domain/store/",
    except: /^src\/domain\/store\//
  },
  { pattern: /\bas any\b|: any\b|@ts-ignore|@ts-expect-error/, instead: "a type" },
  { pattern: /\bTODO\b|\bFIXME\b|\bXXX\b/, instead: "an issue" },
  { pattern: /\bprocess\.env\b/, instead: "src/config.ts", except: /^src\/platform\/process\.ts$/ },
  { pattern: /\bconsole\.\w+\(/, instead: "Effect.log or Console" },
  {
    pattern: /\basync\b|(?<!\.)\bawait\b|\btry \{/,
    instead: "Effect.gen",
    except: /^src\/(rpc|rest)\/|^src\/(client|webhookVerification|platform\/issueCertificate)\.ts$/
  },
  { pattern: /\b(?:common|helpers?|utils?)\.ts"/, instead: "a file named after what it holds" }
]

const codeLines = (text: string) =>
  text.split("\n").filter((line) => !/^\s*(?:$|\/\/|\*|\/\*)/.test(line)).length

const importsOf = (file: string) =>
  ts
    .preProcessFile(read(file), true, true)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith(".") ? path.posix.join(path.posix.dirname(file), fileName) : fileName
    )

describe("the tree", () => {
  it.each(SOURCES)("%s imports what its place allows", (file) => {
    const rule = IMPORT_RULES.find(({ under }) => file.startsWith(under))
    for (const name of importsOf(file)) {
      assert.isTrue(
        rule?.may.some((prefix) => name.startsWith(prefix)),
        `${file} imports ${name}`
      )
    }
  })

  it.each(SOURCES)("%s opens by saying what it owns", (file) => {
    assert.match(read(file), /^(\/\/|\/\*)/, file)
  })

  it.each(SOURCES)("%s has at most 250 lines of code", (file) => {
    assert.isAtMost(codeLines(read(file)), 250)
  })

  it.each(SOURCES)("%s has no function over 70 lines", (file) => {
    const visit = (node: ts.Node) => {
      if (ts.isFunctionLike(node)) {
        const lines = codeLines(node.getText())
        assert.isAtMost(lines, 70, `${file}: ${node.getText().slice(0, 60)}`)
      }
      ts.forEachChild(node, visit)
    }
    visit(parse(file))
  })

  it.each(SOURCES)("%s has nothing that has a better replacement", (file) => {
    const lines = read(file)
      .split("\n")
      .filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line))
    for (const { except, instead, pattern } of BANNED) {
      if (except?.test(file)) continue
      const line = lines.find((line) => pattern.test(line.replace(/"[^"]*"|`[^`]*`/g, '""')))
      assert.isUndefined(line, `${file}: use ${instead} instead`)
    }
  })
})
