// tRPC's own client as the tests of this folder use it, and what a refused call must look like.
import { createTRPCClient, httpBatchLink, httpLink, TRPCClientError } from "@trpc/client"
import { assert } from "vitest"
import type { AppRouter } from "../../src/rpc/router.ts"
import { assertNothingInternal, type Code } from "../rest/expectations.ts"
import { AUTHENTICATION, type TestService } from "../support/service.ts"

const linkOptions = (service: TestService, headers: Record<string, string>) => ({
  url: `${service.baseUrl}/trpc`,
  headers: { ...AUTHENTICATION, ...headers }
})

export const clientOf = (service: TestService, headers: Record<string, string> = {}) =>
  createTRPCClient<AppRouter>({ links: [httpLink(linkOptions(service, headers))] })

/** Calls that are made together travel in one request. */
export const batchingClientOf = (service: TestService, headers: Record<string, string> = {}) =>
  createTRPCClient<AppRouter>({ links: [httpBatchLink(linkOptions(service, headers))] })

/** The call is refused with this code in `error.data`, in the ledger's own words. */
export const assertFails = async (
  call: Promise<unknown>,
  code: Code,
  status: number,
  part = ""
): Promise<void> => {
  const error = await call.then(
    () => assert.fail(`accepted, not ${code}`),
    (error: unknown) => error
  )
  assert.instanceOf(error, TRPCClientError)
  const { data, message } = error as TRPCClientError<AppRouter>
  assert.deepInclude({ ...data }, { code, httpStatus: status }, message)
  assert.notProperty(data, "stack")
  assert.include(message, part)
  assertNothingInternal(message)
}
