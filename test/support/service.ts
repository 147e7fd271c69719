// The service as tests meet it: over HTTP, on a database of its own. `startService` builds it in the
// test's process; `test/support/program.ts` starts the real program instead.
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { ConfigProvider, Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import * as Service from "../../src/service.ts"
import { createDatabase, type TestDatabase } from "./postgres.ts"

/** Given to every test service at its start, so that no test has to read a file for it. */
export const WORKSPACE_ID = "0190c0de-0000-7000-8000-000000000001"
export const TOKEN = "test-admin-token-0123456789abcdef"

export interface Reply {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely, as JSON.parse does.
  readonly body: any
}

export interface TestService extends AsyncDisposable {
  readonly baseUrl: string
  readonly operationsUrl: string
  readonly database: TestDatabase
  /** `POST /ops` with the given body and, where named, other headers. */
  readonly perform: (operation: object, headers?: Record<string, string>) => Promise<Reply>
  /** Performs an operation that must succeed; answers the id of its record. */
  readonly record: (operation: object) => Promise<string>
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Reply>
  readonly request: (path: string, init?: RequestInit) => Promise<Reply>
  readonly stop: () => Promise<void>
}

export const AUTHENTICATION = { "X-Proxy-Token": TOKEN, "X-Workspace-Id": WORKSPACE_ID }

/** Starts a service on its own database, or, as one of several replicas, on the given one. */
export const startService = async (
  options: { readonly database?: TestDatabase; readonly env?: Record<string, string> } = {}
): Promise<TestService> => {
  const database = options.database ?? (await createDatabase())
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "ledger-service-"))
  const scope = Scope.makeUnsafe()
  const env = {
    LEDGER_TLS: "off",
    LEDGER_PORT: "0",
    LEDGER_OPS_PORT: "0",
    LEDGER_DATA_DIR: dataDir,
    DATABASE_URL: database.url,
    LEDGER_BOOTSTRAP_WORKSPACE: WORKSPACE_ID,
    LEDGER_BOOTSTRAP_TOKEN: TOKEN,
    ...options.env
  }
  const services = await Layer.buildWithScope(Service.layer, scope).pipe(
    Effect.provide(Logger.layer([])),
    Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnvRecord(env))),
    Effect.runPromise
  )
  const { baseUrl, operationsUrl } = Context.get(services, Service.ServiceAddress)
  const stop = async () => {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    if (options.database === undefined) await database.drop()
    fs.rmSync(dataDir, { recursive: true, force: true })
  }
  return {
    ...makeCaller(baseUrl),
    operationsUrl: operationsUrl ?? "",
    database,
    stop,
    [Symbol.asyncDispose]: stop
  }
}

/** The ways of a test to talk to a service at `baseUrl`. */
export const makeCaller = (baseUrl: string) => {
  const request = async (path: string, init: RequestInit = {}): Promise<Reply> => {
    const response = await fetch(`${baseUrl}${path}`, {
      ...init,
      headers: { ...AUTHENTICATION, ...(init.headers as Record<string, string> | undefined) }
    })
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text === "" ? undefined : JSON.parse(text)
    }
  }
  const perform = (operation: object, headers: Record<string, string> = {}) =>
    request("/ops", {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(operation)
    })
  const record = async (operation: object): Promise<string> => {
    const reply = await perform(operation)
    if (reply.status !== 200) throw new Error(JSON.stringify(reply.body))
    return reply.body.record_id
  }
  const get = (path: string, headers: Record<string, string> = {}) => request(path, { headers })
  return { baseUrl, request, perform, record, get }
}
