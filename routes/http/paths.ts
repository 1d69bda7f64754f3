import type { Route } from "../call/route.ts";

type Place = Pick<Route, "method" | "path">;

/** A path in Hono's syntax. */
export const pattern = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** Orders names before parameters, so that `/webhooks/event-types` is not taken for a webhook's id. */
export function byRank({ path: a }: Place, { path: b }: Place): number {
  const [first, second] = [rank(a), rank(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** A sort key that puts parameters after every name: `~` is the last printable character of ASCII. */
const rank = (path: string) => path.replaceAll(/\{\w+\}/g, "~");

/**
 * The routes with a parameter where another route of the same method has a name. Hono's fastest router, one
 * regular expression for all routes, rejects such a pair, and one pair would slow every route down.
 */
export function contestedOf<R extends Place>(routes: readonly R[]): Set<R> {
  const names = new Set<string>();
  const parameters = new Map<R, readonly string[]>();
  for (const route of routes) {
    const parts = rank(route.path).split("/");
    const places = parts.map((_, at) => `${route.method} ${parts.slice(0, at).join("/")}`);
    parameters.set(route, places.filter((_, at) => parts[at] === "~"));
    for (const [at, place] of places.entries()) if (parts[at] !== "~") names.add(place);
  }
  return new Set(routes.filter((route) => parameters.get(route)!.some((at) => names.has(at))));
}
