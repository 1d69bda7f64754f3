import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { parseConfig } from "../../core/context/config.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { World } from "../support/world.ts";

const CONSOLE = "https://console.example";
const config = { ...NO_LIMITS, allowed_origins: [`${CONSOLE}/`] };
const ASKS = { "access-control-request-method": "POST" };

const corsOf = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith("access-control-")).sort();

Deno.test("origins: a page of an allowed site may call everything and read every answer", async () => {
  await using world = await World.open({ config });
  const { token } = await world.signUp();
  const headers = { origin: CONSOLE };
  const calls: [string, string, string | undefined, number][] = [
    ["GET", "/health", undefined, 200],
    ["GET", "/api/account/info", token, 200],
    ["GET", "/api/account/info", undefined, 401],
    ["GET", "/nothing", token, 404],
    ["PUT", "/api/account/info", token, 405],
  ];
  for (const [method, path, as, status] of calls) {
    const answer = await world.call(method, path, { as, headers });
    eq(answer.status, status, path);
    eq(answer.headers.get("access-control-allow-origin"), CONSOLE, path);
    ok(answer.headers.get("vary")!.includes("origin"), path);
    ok(answer.headers.get("access-control-expose-headers")!.includes("x-request-id"), path);
  }
  for (const path of ["/api/events", "/.well-known/oauth-protected-resource"]) {
    const answer = await world.raw("GET", path, { as: token, headers });
    eq(answer.headers.get("access-control-allow-origin"), CONSOLE, path);
    await answer.body!.cancel();
  }
});

Deno.test("origins: a preflight gets the same answer on every path and does nothing", async () => {
  await using world = await World.open({ config });
  const paths = ["/mcp", "/api/v1/api-keys", "/api/v1/agents/agt_1", "/nothing"];
  const said = await Promise.all(paths.map(async (path) => {
    const headers = { origin: CONSOLE, ...ASKS };
    const answer = await world.raw("OPTIONS", path, { headers });
    eq(answer.status, 204, path);
    for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-reset"]) {
      ok(answer.headers.has(name), name);
    }
    return Object.fromEntries([...answer.headers].filter(([name]) => name !== "x-request-id"));
  }));
  for (const one of said) deq(one, said[0]);
  const names = said[0]!["access-control-allow-headers"]!.split(", ");
  for (const name of ["authorization", "content-type", "mcp-protocol-version"]) {
    ok(names.includes(name), name);
  }
});

Deno.test("origins: other pages get no access, cookies are not allowed, and the default is nobody", async () => {
  for (const allowed of [config, NO_LIMITS]) {
    await using world = await World.open({ config: allowed, settings: { local: false } });
    const origins = ["https://evil.example", "null", `${CONSOLE}.evil.example`, `${CONSOLE}:8443`];
    if (allowed === NO_LIMITS) origins.push(CONSOLE);
    for (const origin of origins) {
      const get = await world.call("GET", "/health", { headers: { origin } });
      deq([get.status, corsOf(get.headers)], [200, []], origin);
      const asked = await world.call("OPTIONS", "/health", { headers: { origin, ...ASKS } });
      deq([asked.status, corsOf(asked.headers)], [405, []], origin);
    }
  }
  await using world = await World.open({ config });
  const answer = await world.call("GET", "/health", { headers: { origin: CONSOLE } });
  ok(!answer.headers.has("access-control-allow-credentials"));
  const plain = await world.call("GET", "/health");
  deq(corsOf(plain.headers), []);
  ok(
    plain.headers.get("vary")!.includes("origin"),
    "a cache must not give one's answer to another",
  );
});

Deno.test("origins: the configuration refuses values that are not origins", () => {
  const read = (origin: string) =>
    parseConfig(JSON.stringify({ allowed_origins: [origin] })).allowed_origins;
  deq(read("HTTPS://Console.Example:443"), [CONSOLE]);
  deq(read("http://localhost:3000"), ["http://localhost:3000"]);
  const wrong = ["*", "null", "https://*", "console.example", `${CONSOLE}/page`, `${CONSOLE}?x`];
  for (const origin of [...wrong, "https://user@console.example", "chrome-extension://abc"]) {
    throws(() => read(origin), /allowed_origins/, origin);
  }
});
