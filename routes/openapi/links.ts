import { z } from "zod";
import type { Link } from "./types.ts";
import type { Route } from "../call/route.ts";

/** The place of a path parameter's value in a response. */
interface Source {
  readonly pointer: string;
  /** True for an entry of a list; links from it only read. */
  readonly listed: boolean;
}

/**
 * The operations that can follow with values of a response: from a creation, reading, changing and deleting;
 * from a list, reading the first entry. They are derived from paths and schemas.
 */
export function linksOf(from: Route, routes: readonly Route[]): Record<string, Link> {
  const links: Record<string, Link> = {};
  for (const to of routes) {
    const parameters = parametersOf(from, to);
    if (parameters !== null) links[to.id] = { operationId: to.id, parameters };
  }
  return links;
}

/** The source of every path parameter of `to` in a request and its response; null when one has none. */
function parametersOf(from: Route, to: Route): Record<string, string> | null {
  const names = namesIn(to.path);
  const known = namesIn(from.path);
  const last = names.at(-1);
  if (last === undefined || from.method !== "POST" && !isList(from)) return null;
  const before = to.path.slice(0, to.path.indexOf(`/{${last}}`));
  const source = before === from.path ? sourceOf(from, last) ?? sourceOf(from, "id") : null;
  const elsewhere = names.length === 1 && before !== from.path && fitsElsewhere(from, last);
  const found = source ?? (elsewhere ? sourceOf(from, last) ?? sourceOf(from, "id") : null);
  if (found === null || found.listed && to.effect !== "read") return null;
  if (names.some((name) => name !== last && !known.includes(name))) return null;
  const same = names.slice(0, -1).map((name) => [name, `$request.path.${name}`]);
  return { ...Object.fromEntries(same), [last]: `$response.body#${found.pointer}` };
}

/** True for `{agent_id}` of a list of agents, and for a parameter that only entries of that list have. */
function fitsElsewhere(from: Route, name: string): boolean {
  if (name === "pid") return isList(from) && sourceOf(from, name) !== null;
  return name.endsWith("_id") && from.path.endsWith(`/${name.slice(0, -3)}s`) && isList(from);
}

function sourceOf(route: Route, name: string): Source | null {
  const shape = shapeOf(route);
  if (shape === null) return null;
  if (!isList(route)) return name in shape ? { pointer: `/${name}`, listed: false } : null;
  for (const [field, type] of Object.entries(shape)) {
    if (!(type instanceof z.ZodArray) || !(type.element instanceof z.ZodObject)) continue;
    if (name in type.element.shape) return { pointer: `/${field}/0/${name}`, listed: true };
  }
  return null;
}

const isList = (route: Route): boolean =>
  route.method === "GET" && "pagination" in (shapeOf(route) ?? {});

function shapeOf({ success }: Route): Record<string, unknown> | null {
  return "body" in success && success.body instanceof z.ZodObject ? success.body.shape : null;
}

const namesIn = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
