import type { Route } from "../call/route.ts";

type Place = Pick<Route, "method" | "path">;

/** A path as Hono writes it. */
export const pattern = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** Names before parameters: `/webhooks/event-types` is not a webhook's id. */
export function byRank({ path: a }: Place, { path: b }: Place): number {
  const [first, second] = [rank(a), rank(b)];
  return first < second ? -1 : first > second ? 1 : 0;
}

/** Sorts as the path does, with its parameters behind every name: `~` is the last character of ASCII. */
const rank = (path: string) => path.replaceAll(/\{\w+\}/g, "~");

/**
 * The routes with a parameter where another one of their method has a name: the fastest of Hono's routers,
 * one regular expression for all, takes no such pair, and a single one would cost every route that router.
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
