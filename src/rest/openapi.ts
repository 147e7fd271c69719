// The OpenAPI document of the REST paths: generated from the tRPC router, then completed with what
// only the front and the domain know. Printed by `ledger openapi`; openapi/openapi.json is its copy.
import { generateOpenApiDocument } from "trpc-to-openapi"
import { appRouter } from "../rpc/router.ts"
import { API_VERSION } from "../version.ts"
import { CALLBACK_TAG, callbackWebhooks } from "./openapi/callback.ts"
import type { OpenApiDocument } from "./openapi/documentTypes.ts"
import { errorComponents } from "./openapi/errorResponses.ts"
import { HEADER_COMPONENTS, PARAMETER_COMPONENTS } from "./openapi/parameters.ts"
import { documentedPaths } from "./openapi/paths.ts"
import { TAGS } from "./openapi/pathTexts.ts"
import { documentSchemas } from "./openapi/schemas.ts"

const BASE_URL = "https://127.0.0.1:8443"

const DESCRIPTION = `A workspace-scoped ledger of work: memories are raw observations, commitments are work items. Every change is one operation, sent to POST /ops and kept in a ledger that is only ever appended to.

**Authentication.** Every request carries the headers X-Proxy-Token and X-Workspace-Id; there are no anonymous endpoints. A token belongs to exactly one workspace.

**Errors.** Every error has the body {"success": false, "error": {"code", "message"}}. The order of checks: 401, 403, unknown path 404, wrong method 405, body and query 400, missing evidence 422, unknown record 404, state 422. Only 500 is worth a retry.

**Versioning.** The API only ever grows: new operations, fields and parameters may appear, so clients ignore fields that they do not know. The header Ledger-Version of every response holds the version.

**Methods.** HEAD is answered wherever GET is, without a body.`

const SECURITY_SCHEMES: NonNullable<OpenApiDocument["components"]>["securitySchemes"] = {
  ProxyToken: {
    type: "apiKey",
    in: "header",
    name: "X-Proxy-Token",
    description: "The API token. Tokens are issued by the workspace's administrators."
  },
  BearerToken: {
    type: "http",
    scheme: "bearer",
    description:
      "The API token as a bearer token. It counts for webhook.register only; any other operation that is sent with it alone is answered with 401."
  }
}

/** The document. The same router gives the same document, key for key. */
export const openApiDocument = (): object => {
  const generated = generateOpenApiDocument(appRouter, {
    title: "Workspace Ledger",
    description: DESCRIPTION,
    version: API_VERSION,
    contact: { name: "The Workspace Ledger authors" },
    license: { name: "MIT", identifier: "MIT" },
    openApiVersion: "3.1.0",
    baseUrl: BASE_URL
  })
  const { info, openapi, paths } = generated
  const document: OpenApiDocument = {
    openapi,
    info,
    servers: [{ url: BASE_URL, description: "The service with its default settings." }],
    security: [{ ProxyToken: [] }],
    tags: [...TAGS, CALLBACK_TAG],
    paths: documentedPaths(paths ?? {}),
    webhooks: callbackWebhooks(),
    components: {
      securitySchemes: SECURITY_SCHEMES ?? {},
      parameters: PARAMETER_COMPONENTS,
      headers: HEADER_COMPONENTS,
      responses: errorComponents(),
      schemas: documentSchemas()
    }
  }
  return document
}

/** The document as the committed file holds it. */
export const renderOpenApiDocument = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`
