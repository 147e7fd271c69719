// The version of the program, and of the API that it serves (D24: additive only).
import { readFileSync } from "node:fs"

const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8")
)

export const PROGRAM_VERSION = manifest.version

/** `info.version` of the OpenAPI document and the header `Ledger-Version` of every response. */
export const API_VERSION = "1.0.0"
