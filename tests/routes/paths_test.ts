import assert from "node:assert/strict";
import { RegExpRouter } from "@hono/hono/router/reg-exp-router";
import { byRank, contestedOf, pattern } from "../../routes/http/paths.ts";
import { routes } from "../../routes/index.ts";

Deno.test("contestedOf: one regular expression holds and finds all other routes", () => {
  const router = new RegExpRouter<string>();
  const contested = contestedOf(routes);
  const fitting = routes.filter((route) => !contested.has(route)).sort(byRank);
  for (const { id, method, path } of fitting) router.add(method, pattern(path), id);
  for (const { id, method, path } of fitting) {
    const [found] = router.match(method, path.replaceAll(/\{\w+\}/g, "x1"));
    assert.deepEqual(found.map(([handler]) => handler), [id]);
  }
  assert.ok(contested.size * 10 < routes.length, `${contested.size} routes are contested`);
});

Deno.test("contestedOf: a parameter conflicts only with a name of its method at its place", () => {
  const at = (method: "GET" | "POST", path: `/${string}`) => ({ method, path });
  const named = at("GET", "/hooks/types"), one = at("GET", "/hooks/{id}");
  const deeper = at("GET", "/hooks/{id}/log/{entry}"), other = at("POST", "/hooks/{id}");
  const far = at("GET", "/keys/{id}");
  assert.deepEqual([...contestedOf([named, one, deeper, other, far])], [one, deeper]);
  assert.deepEqual([...contestedOf([one, deeper, other, far])], []);
});
