// `ledger openapi`: the description of the interface, for tools that import it.
import { Console, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { renderOpenApiDocument } from "../rest/openapi.ts"
import { answer } from "./output.ts"

export const openapiCommand = Command.make(
  "openapi",
  {
    file: Flag.String("write").pipe(
      Flag.withDescription("Write the document to this file instead of stdout"),
      Flag.withMetavar("file"),
      Flag.optional
    )
  },
  Effect.fn(function* ({ file }) {
    const document = renderOpenApiDocument()
    if (Option.isNone(file)) return yield* Console.log(document.trimEnd())
    const fileSystem = yield* FileSystem.FileSystem
    yield* fileSystem.writeFileString(file.value, document)
    yield* answer({ file: file.value }, [`Wrote ${file.value}.`])
  })
).pipe(
  Command.withShortDescription("Print the OpenAPI document of the interface"),
  Command.withDescription(
    "Print the OpenAPI 3.1 document of the interface (it is JSON, with or without --json). Needs no database."
  ),
  Command.withExamples([
    { command: "ledger openapi > openapi.json", description: "For a tool that imports it" },
    {
      command: "ledger openapi --write openapi/openapi.json",
      description: "What npm run openapi does"
    }
  ])
)
