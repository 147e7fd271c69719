// Other callers than the test's own admin token: further tokens, and a workspace beside the first.
// They are made as an administrator makes them, through the settings.
import { assert } from "vitest"
import type { TestService } from "../support/service.ts"

export interface IssuedToken {
  readonly id: string
  readonly token: string
  readonly prefix: string
}

const setting = async (service: TestService, procedure: string, input: object) => {
  const reply = await service.request(`/trpc/settings.${procedure}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(input)
  })
  assert.strictEqual(reply.status, 200, JSON.stringify(reply.body))
  return reply.body.result.data
}

/** A further token of the first workspace. */
export const issueToken = (
  service: TestService,
  options: { readonly label?: string | null; readonly role?: "admin" | "member" } = {}
): Promise<IssuedToken> => setting(service, "tokens.issue", options)

export const revokeToken = (service: TestService, id: string): Promise<void> =>
  setting(service, "tokens.revoke", { id })

/** A second workspace; answers the two headers that reach it. */
export const createWorkspace = async (
  service: TestService,
  name = "beside"
): Promise<{ readonly "X-Proxy-Token": string; readonly "X-Workspace-Id": string }> => {
  const { token, workspace } = await setting(service, "workspaces.create", { name })
  return { "X-Proxy-Token": token.token, "X-Workspace-Id": workspace.id }
}
