import { deepStrictEqual as deq } from "node:assert/strict";
import { MCP_RESOURCES } from "../../core/access/access.ts";
import type { Route } from "../../routes/call/route.ts";
import { routes, upgrades } from "../../routes/index.ts";
import contract from "./contract.json" with { type: "json" };

/** An endpoint of the interface specification. */
interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly auth: string;
  readonly scope: string | null;
}

const CONTRACT: readonly Endpoint[] = contract;

const bare = (path: string) => path.replaceAll(/\{\w+\}/g, "{}");

Deno.test("interface: each of the 95 endpoints exists with the contract's access and scope", () => {
  const key = (method: string, path: string) => `${method} ${bare(path)}`;
  const have = new Map<string, Route | null>(
    routes.map((route) => [key(route.method, route.path), route]),
  );
  for (const { path } of upgrades) have.set(key("GET", path), null);
  for (const path of MCP_RESOURCES) have.set(key("POST", path), null);
  deq(CONTRACT.length, 95);
  const wrong = CONTRACT.flatMap(({ method, path, auth, scope }) => {
    const route = have.get(key(method, path));
    if (route === undefined) return [`${method} ${path} is missing`];
    if (route === null) return [];
    const isPublic = "public" in route.access;
    const scopes = "scope" in route.access ? [route.access.scope].flat() : [];
    return [
      ...(isPublic === (auth === "public") ? [] : [`${method} ${path} should be ${auth}`]),
      ...(scope === null || scopes.includes(scope as never)
        ? []
        : [`${method} ${path} should need ${scope}`]),
    ];
  });
  deq(wrong, []);
});

Deno.test("interface: operation ids, and paths with methods, are unique", () => {
  const twice = (names: readonly string[]) =>
    names.filter((name, at) => names.indexOf(name) !== at);
  deq(twice(routes.map((route) => route.id)), []);
  deq(twice(routes.map((route) => `${route.method} ${bare(route.path)}`)), []);
});
