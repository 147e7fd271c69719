// The parts of an OpenAPI 3.1 document, named. The types are those of the generator's own answer.
import type { generateOpenApiDocument } from "trpc-to-openapi"

export type OpenApiDocument = ReturnType<typeof generateOpenApiDocument>
export type PathItem = NonNullable<OpenApiDocument["paths"]>[string]
export type DocumentedOperation = NonNullable<PathItem["get"]>
export type Parameter = NonNullable<DocumentedOperation["parameters"]>[number]
export type Components = NonNullable<OpenApiDocument["components"]>
export type Schema = NonNullable<Components["schemas"]>[string]
export type Response = NonNullable<Components["responses"]>[string]
export type Header = NonNullable<Components["headers"]>[string]

/** Examples by name; each is one value that the schema beside it accepts. */
export type NamedExamples = Readonly<
  Record<string, { readonly summary: string; readonly value: unknown }>
>

export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` })
