// What Postman makes of the OpenAPI document: every request must still carry both headers.
import { convert, convertV2 } from "openapi-to-postmanv2"
import { assert, describe, it } from "vitest"
import { renderOpenApiDocument } from "../../src/rest/openapi.ts"

interface PostmanItem {
  readonly item?: ReadonlyArray<PostmanItem>
  readonly request?: {
    readonly auth?: PostmanAuth | null
    readonly header: ReadonlyArray<{ readonly key: string }>
    readonly url: { readonly path: ReadonlyArray<string> }
  }
}
interface PostmanAuth {
  readonly type: string
  readonly apikey: ReadonlyArray<{ readonly key: string; readonly value: unknown }>
}
type PostmanCollection = PostmanItem & { readonly auth: PostmanAuth }

describe("a Postman collection made from it", () => {
  it.each([
    ["first converter", convert],
    ["second converter", convertV2]
  ])("keeps both headers on every request (%s)", async (_name, converter) => {
    const collection = await new Promise<PostmanCollection>((resolve, reject) => {
      converter({ type: "string", data: renderOpenApiDocument() }, {}, (error, answer) => {
        const [output] = answer && "output" in answer ? [answer.output].flat() : []
        if (output === undefined) reject(error ?? new Error("no collection"))
        else resolve(output.data as PostmanCollection)
      })
    })
    const requests = requestsOf(collection)
    assert.lengthOf(requests, 6)
    for (const { auth, header, url } of requests) {
      const title = `/${url.path.join("/")}`
      assert.include(
        header.map(({ key }) => key),
        "X-Workspace-Id",
        title
      )
      const { apikey, type } = auth ?? collection.auth
      assert.strictEqual(type, "apikey", title)
      assert.containSubset(
        Object.fromEntries(apikey.map(({ key, value }) => [key, value])),
        { key: "X-Proxy-Token", in: "header" },
        title
      )
    }
  })

  const requestsOf = (item: PostmanItem): ReadonlyArray<NonNullable<PostmanItem["request"]>> => [
    ...(item.request === undefined ? [] : [item.request]),
    ...(item.item ?? []).flatMap(requestsOf)
  ]
})
