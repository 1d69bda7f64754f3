import { deepStrictEqual as deq } from "node:assert/strict";
import { MCP_PATHS } from "../../mcp/endpoint.ts";
import { routes, upgrades } from "../../routes/index.ts";

interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly auth: "public" | "auth" | "optional";
  readonly scope: string | null;
}

const CONTRACT = "../shared/endpoints.json";
const contract: Endpoint[] | null = await Deno.readTextFile(CONTRACT).then(
  (text) => JSON.parse(text),
  () => null,
);

const bare = (path: string) => path.replaceAll(/\{\w+\}/g, "{}");

Deno.test({
  name: "interface: what stands of the contract stands as it says",
  ignore: contract === null,
  fn() {
    const key = (method: string, path: string) => `${method} ${bare(path)}`;
    const have = new Map(routes.map((route) => [key(route.method, route.path), route]));
    for (const { path } of upgrades) have.set(key("GET", path), undefined as never);
    for (const path of MCP_PATHS) have.set(key("POST", path), undefined as never);
    const missing = contract!.filter(({ method, path }) => !have.has(key(method, path)));
    console.log(`${contract!.length - missing.length} of ${contract!.length} endpoints stand`);
    const wrong = contract!.flatMap(({ method, path, auth, scope }) => {
      const route = have.get(key(method, path));
      if (route === undefined) return [];
      const isPublic = "public" in route.access;
      const scopes = "scope" in route.access ? [route.access.scope].flat() : [];
      return [
        ...(isPublic === (auth === "public") ? [] : [`${method} ${path} should be ${auth}`]),
        ...(scope === null || scopes.includes(scope as never)
          ? []
          : [`${method} ${path} should ask for ${scope}`]),
      ];
    });
    deq(wrong, []);
  },
});

Deno.test("interface: every operation id and every path with its method is there once", () => {
  const twice = (names: readonly string[]) =>
    names.filter((name, at) => names.indexOf(name) !== at);
  deq(twice(routes.map((route) => route.id)), []);
  deq(twice(routes.map((route) => `${route.method} ${bare(route.path)}`)), []);
});
