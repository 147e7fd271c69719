// Pure: which URLs may be registered as receivers, and which addresses may be dialled for them. Asked
// when a webhook is registered, and again by the sender at each attempt.
import { Result } from "effect"
import ipaddr from "ipaddr.js"
import { LIMITS } from "./limits.ts"

/** What LEDGER_WEBHOOK_ALLOW lets through beside public addresses: a range, or a host by its name. */
export type AllowedReceiver =
  | { readonly kind: "range"; readonly range: [ipaddr.IPv4 | ipaddr.IPv6, number] }
  | { readonly kind: "host"; readonly host: string }

export type AllowList = ReadonlyArray<AllowedReceiver>

const range = (text: string): AllowedReceiver => ({
  kind: "range",
  range: ipaddr.parseCIDR(text)
})

/** The word `loopback` of LEDGER_WEBHOOK_ALLOW. */
export const LOOPBACK_ALLOWED: AllowList = [range("127.0.0.0/8"), range("::1/128")]

/**
 * Reads LEDGER_WEBHOOK_ALLOW: addresses, CIDRs, host names and the word `loopback`, by commas; or the word
 * `none` alone, because a variable that is empty is not set.
 */
export const parseAllowList = (text: string): Result.Result<AllowList, string> => {
  if (text.trim() === "none") return Result.succeed([])
  const words = text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
  const allowed: Array<AllowedReceiver> = []
  for (const word of words) {
    const entries = parseEntry(word)
    if (entries === undefined) {
      return Result.fail(
        `"${word}" is neither an address, a CIDR such as 10.0.0.0/8, a host name, the word loopback, nor the word none alone.`
      )
    }
    allowed.push(...entries)
  }
  return Result.succeed(allowed)
}

const parseEntry = (word: string): AllowList | undefined => {
  if (word === "loopback") return LOOPBACK_ALLOWED
  if (word === "none") return undefined
  if (isCidr(word)) return [range(word)]
  const address = parseAddress(word)
  if (address !== undefined) return [range(`${address}/${address.kind() === "ipv4" ? 32 : 128}`)]
  const host = hostName(word)
  return host === undefined ? undefined : [{ kind: "host", host }]
}

/** Four plain numbers for IPv4: the library would also read `10.1/8` and octal numbers. */
const isCidr = (text: string) =>
  text.includes(":") ? ipaddr.IPv6.isValidCIDR(text) : ipaddr.IPv4.isValidCIDRFourPartDecimal(text)

/** The name as URLs spell it (lower case, IDN as ASCII), if it is the name of a host and nothing else. */
const hostName = (word: string): string | undefined => {
  if (!/^[^\s/\\:@?#%*[\]]+$/.test(word) || !URL.canParse(`https://${word}`)) return undefined
  const { hostname } = new URL(`https://${word}`)
  return ipaddr.isValid(hostname) || hostname.endsWith(".") ? undefined : hostname
}

/** An address in its usual spelling; an IPv4 address inside of an IPv6 one is taken out of it. */
const parseAddress = (text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
    ? ipaddr.process(text)
    : undefined

/**
 * The default of LEDGER_WEBHOOK_ALLOW and the table in docs speak of «public»: what the registries
 * hand out to hosts on the internet. Everything else is somebody's inside, or nowhere.
 */
const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address.range() === "unicast" &&
  (address.kind() === "ipv4" || address.match(ipaddr.parseCIDR("2000::/3")))

const isInAllowedRange = (address: ipaddr.IPv4 | ipaddr.IPv6, allow: AllowList): boolean =>
  allow.some(
    (entry) =>
      entry.kind === "range" &&
      entry.range[0].kind() === address.kind() &&
      address.match(entry.range)
  )

const isAllowedHost = (host: string, allow: AllowList): boolean =>
  allow.some((entry) => entry.kind === "host" && entry.host === host)

/** Names that mean this machine, whatever a resolver says. */
const LOOPBACK_NAME =
  /(?:^|\.)localhost$|^localhost6?(?:\.localdomain6?)?$|^ip6-(?:localhost|loopback)$/

/** The range `loopback`, or a part of it, lets the names of this machine through. */
const allowsLoopback = (allow: AllowList): boolean =>
  allow.some((entry) => entry.kind === "range" && entry.range[0].range() === "loopback")

/** Whether a resolved address may be dialled for this host. */
export const isAllowedAddress = (host: string, address: string, allow: AllowList): boolean => {
  const parsed = parseAddress(address)
  if (parsed === undefined) return false
  if (isInAllowedRange(parsed, allow) || isAllowedHost(host, allow)) return true
  return !LOOPBACK_NAME.test(host) && isPublic(parsed)
}

/**
 * Why this URL may not be a receiver, or undefined. What a name resolves to is not known here: the
 * sender asks `isAllowedAddress` for each address when it dials. Spellings such as `0x7f.1` or
 * `①②⑦.⓪.⓪.①` are addresses by then, because the parsed host is judged, never the text.
 */
export const refusedUrl = (url: string, allow: AllowList): string | undefined => {
  if (url.length > LIMITS.webhookUrlCharacters) {
    return `A webhook URL must have at most ${LIMITS.webhookUrlCharacters} characters.`
  }
  if (!URL.canParse(url)) return "A webhook URL must be an absolute URL."
  const parsed = new URL(url)
  return refusedForm(parsed) ?? refusedHost(parsed, allow)
}

const refusedForm = (url: URL): string | undefined => {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return "A webhook URL must be an http: or https: URL."
  }
  if (url.username !== "" || url.password !== "") {
    return "A webhook URL must not carry a user name or password."
  }
  if (url.hash !== "") return "A webhook URL must not have a fragment: it would never be sent."
  if (OTHER_PROTOCOLS_PORTS.has(url.port)) {
    return `A webhook URL must not name port ${url.port}: it is another protocol's.`
  }
  if (url.hostname.endsWith(".") || url.hostname.includes("..")) {
    return "The host of a webhook URL must not end with a dot, or have an empty part."
  }
  return undefined
}

const refusedHost = (url: URL, allow: AllowList): string | undefined => {
  const host = bareHost(url)
  const address = parseAddress(host)
  if (
    address === undefined ? !isReachableName(host, allow) : !isAllowedAddress(host, host, allow)
  ) {
    return `The webhook host "${host}" is not public. Hosts and networks that may receive all the same are named in LEDGER_WEBHOOK_ALLOW.`
  }
  if (url.protocol === "https:") return undefined
  const isNamed =
    isAllowedHost(host, allow) ||
    (address === undefined ? LOOPBACK_NAME.test(host) : isInAllowedRange(address, allow))
  return isNamed
    ? undefined
    : "A webhook URL must be an https: URL. Hosts that may use http: are named in LEDGER_WEBHOOK_ALLOW."
}

const isReachableName = (host: string, allow: AllowList): boolean =>
  !LOOPBACK_NAME.test(host) || allowsLoopback(allow) || isAllowedHost(host, allow)

/** The host of a URL as resolvers and lists spell it: an IPv6 address without its brackets. */
export const bareHost = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "")

/** Port 0, and the «bad ports» of the Fetch standard: no receiver of HTTP lives there. */
const OTHER_PROTOCOLS_PORTS: ReadonlySet<string> = new Set(
  `0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113
  115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556
  563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666
  6667 6668 6669 6679 6697 10080`.split(/\s+/)
)
