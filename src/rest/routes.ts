// The spec's six paths. Matching is exact: letter case and trailing slashes count.
import type { z } from "zod"
import { CommitmentListQuery, MemoryListQuery } from "../domain/listQueries.ts"

export interface Route {
  readonly method: "GET" | "POST"
  /** As the router knows it; an id stands at the end. */
  readonly path: `/${string}`
  readonly query?: z.ZodObject
}

export const ROUTES = {
  ops: { method: "POST", path: "/ops" },
  status: { method: "GET", path: "/status" },
  commitments: { method: "GET", path: "/commitments", query: CommitmentListQuery },
  commitment: { method: "GET", path: "/commitments/" },
  memories: { method: "GET", path: "/memories", query: MemoryListQuery },
  memory: { method: "GET", path: "/memories/" }
} as const satisfies Record<string, Route>

export interface Match {
  readonly route: Route
  /** The path with its id escaped again, as trpc-to-openapi, which does not decode, is to see it. */
  readonly path: string
}

/** The route of a path, or undefined: «unknown path 404». */
export const matchRoute = (segments: ReadonlyArray<string>): Match | undefined => {
  const [first, id] = segments
  // An escaped slash is part of a segment; no route has one in its name.
  if (first === undefined || first.includes("/")) return undefined
  if (segments.length === 1) {
    const route = Object.values<Route>(ROUTES).find(({ path }) => path === `/${first}`)
    return route === undefined ? undefined : { route, path: route.path }
  }
  // A dot segment is no id: URL parsers behind this one would walk it.
  if (segments.length !== 2 || id === undefined || /^\.{0,2}$/.test(id)) return undefined
  const route = Object.values<Route>(ROUTES).find(({ path }) => path === `/${first}/`)
  return route === undefined ? undefined : { route, path: route.path + encodeURIComponent(id) }
}

/** HEAD is GET without the body. */
export const allowedMethods = (route: Route) => (route.method === "GET" ? "GET, HEAD" : "POST")
