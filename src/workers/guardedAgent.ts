// The connections of the webhook sender: each address is vetted before it is dialled, and the address
// that was vetted is the one that is dialled, whatever its name resolves to a moment later.
import { lookup as systemLookup } from "node:dns/promises"
import type { LookupFunction } from "node:net"
import { Duration, Effect } from "effect"
import { Agent, buildConnector } from "undici"
import { type AllowList, isAllowedAddress } from "../domain/receiverAddress.ts"

/**
 * Why no connection came about:
 * - `refused_address`: the URL, or an address that its name resolves to, is not public and not in
 *   LEDGER_WEBHOOK_ALLOW;
 * - `dns`: the name has no address, or cannot be looked up;
 * - `connect`: no address accepts the connection;
 * - `tls`: no trusted certificate for this name that is valid now, or no TLS at all.
 */
export type ReceiverFailure = "refused_address" | "dns" | "connect" | "tls"

export class ReceiverUnreachable extends Error {
  readonly failure: ReceiverFailure
  constructor(failure: ReceiverFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** All addresses of a name; rejects when there are none. */
export type Resolver = (host: string) => Promise<ReadonlyArray<ResolvedAddress>>

export interface AgentOptions {
  readonly timeout: Duration.Input
  readonly allow: AllowList
  readonly resolve?: Resolver
  readonly ca?: ReadonlyArray<string>
}

/**
 * Bursts to one receiver use its connections again. They are closed soon after: most servers close
 * idle ones after 2 seconds or more, and a request that meets the closing would be a failed attempt.
 */
const IDLE_MILLISECONDS = 1_000
/** Where the receiver says how long it keeps a connection, less the two seconds that undici takes off. */
const IDLE_MILLISECONDS_MOST = 4_000
const HEADER_BYTES = 16 * 1024

/**
 * An agent of undici that dials only what the guard lets through. It takes no proxy from the
 * environment and follows no redirect; it speaks HTTP/1.1. Literal addresses are never looked up, so
 * whoever sends asks `refusedUrl` first. There is no limit of connections: a receiver that hangs must
 * not make others behind the same origin wait.
 */
export const guardedAgent = (options: AgentOptions) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const timeout = Duration.toMillis(Duration.fromInputUnsafe(options.timeout))
      const connect = buildConnector({
        allowH2: false,
        timeout,
        lookup: vettedLookup(options),
        ...(options.ca === undefined ? {} : { ca: Array.from(options.ca) })
      })
      return new Agent({
        connect: (target, callback) =>
          connect(target, (error, socket) =>
            error === null ? callback(null, socket) : callback(toUnreachable(error), null)
          ),
        allowH2: false,
        keepAliveTimeout: IDLE_MILLISECONDS,
        keepAliveMaxTimeout: IDLE_MILLISECONDS_MOST,
        maxHeaderSize: HEADER_BYTES,
        // The sender has one deadline over everything.
        headersTimeout: 0,
        bodyTimeout: 0
      })
    }),
    (agent) => Effect.promise(() => agent.destroy())
  )

/**
 * A lookup for `net.connect`, which dials only what this answers. One address that is not allowed
 * refuses them all: a name with a public and a private address is an attempt to get inside.
 */
const vettedLookup = ({ allow, resolve = sharedLookups(systemResolver) }: AgentOptions) => {
  const lookup: LookupFunction = (host, { all }, callback) => {
    resolve(host).then(
      (addresses) => {
        const refused = addresses.find(({ address }) => !isAllowedAddress(host, address, allow))
        const [first] = addresses
        if (refused !== undefined) callback(refusal(host), [])
        else if (first === undefined) callback(unknownHost(host), [])
        else if (all) callback(null, Array.from(addresses))
        else callback(null, first.address, first.family)
      },
      () => callback(unknownHost(host), [])
    )
  }
  return lookup
}

const refusal = (host: string) =>
  new ReceiverUnreachable(
    "refused_address",
    `"${host}" resolves to an address that is not public and not in LEDGER_WEBHOOK_ALLOW`
  )

const unknownHost = (host: string) =>
  new ReceiverUnreachable("dns", `"${host}" could not be resolved to an address`)

/** As other programs on this machine resolve names, its hosts file included. */
const systemResolver: Resolver = (host) => systemLookup(host, { all: true })

/**
 * The system's lookups share four threads of the process. Callers that ask for a name that is being
 * looked up wait for the same answer, so that one name whose servers are silent holds one thread.
 */
const sharedLookups = (resolve: Resolver): Resolver => {
  const running = new Map<string, ReturnType<Resolver>>()
  return (host) => {
    const known = running.get(host)
    if (known !== undefined) return known
    const started = resolve(host).finally(() => running.delete(host))
    running.set(host, started)
    return started
  }
}

const toUnreachable = (error: Error): Error => {
  if (error instanceof ReceiverUnreachable) return error
  return new ReceiverUnreachable(isDialFailure(error) ? "connect" : "tls", wordsOf(error))
}

/** Node names the system call that failed; several addresses that all failed come as one error. */
const isDialFailure = (error: Error): boolean =>
  error instanceof AggregateError ||
  ("syscall" in error && error.syscall === "connect") ||
  ("code" in error && error.code === "UND_ERR_CONNECT_TIMEOUT")

/**
 * What went wrong, for the log. OpenSSL's own message names a place in this process's memory and lines of
 * its source; the reason in it is enough.
 */
export const wordsOf = (error: Error): string => {
  if (error instanceof AggregateError) {
    return error.errors.map((each) => String(each.message ?? each)).join("; ")
  }
  const isOpenSsl = "library" in error && "reason" in error
  return isOpenSsl ? String(error.reason) : error.message
}
