// The hash chain: each entry's hash covers the entry and the hash before it, so that no entry can
// be changed, removed or moved without every later hash telling.

import { createHash } from "node:crypto"
import canonicalize from "canonicalize"
import type { LedgerEntry } from "./records.ts"

/** Version of the entry's hashed form. Replay and verification dispatch on it. */
export const ENTRY_FORMAT = 1

/** What the first entry of a ledger has for its previous hash. */
export const GENESIS_HASH = new Uint8Array(32)

/** RFC 8785 canonical JSON: the same operation gives the same text, whoever wrote it. */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? "null"

/**
 * SHA-256 over a JSON array of the format, the workspace, the sequence, the previous hash and the
 * entry. An array of strings and integers is its own canonical form.
 */
export const entryHash = (workspaceId: string, entry: Omit<LedgerEntry, "hash">): Uint8Array => {
  const hashed = JSON.stringify([
    ENTRY_FORMAT,
    workspaceId,
    entry.seq,
    Buffer.from(entry.previousHash).toString("hex"),
    entry.opId,
    entry.op,
    entry.actor,
    entry.recordId,
    entry.time,
    entry.payload
  ])
  return createHash("sha256").update(hashed).digest()
}
