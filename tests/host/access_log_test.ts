import { deepStrictEqual as deq, ok, strictEqual as eq, throws } from "node:assert/strict";
import { ENVIRONMENT } from "../../core/context/environment.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { World } from "../support/world.ts";

const linesOf = ({ logged }: World) =>
  logged.filter(({ message }) => message === "request")
    .map(({ fields }) => fields as Record<string, unknown>);

/** A relay with this rule in its configuration. */
const opened = (access_log: object, environment: Record<string, string> = {}) =>
  World.open({ config: { ...NO_LIMITS, access_log }, environment });

Deno.test("access log: a line has the pattern of the path, the caller and the request's id, never the query", async () => {
  await using world = await opened({ requests: "all" });
  const account = await world.signUp();
  const path = "/api/v1/agents/agt_hidden?limit=hidden";
  const { headers } = await world.call("GET", path, { as: account.token });
  const { ms, ...line } = linesOf(world).at(-1)!;
  eq(typeof ms, "number");
  deq(line, {
    method: "GET",
    route: "/api/v1/agents/{id}",
    status: 400,
    request_id: headers.get("x-request-id"),
    organization_id: account.org,
    actor_id: account.userId,
  });
  ok(!JSON.stringify(world.logged).includes("hidden"));
  ok(!JSON.stringify(world.logged).includes(account.token));
});

Deno.test("access log: is off by default, and `errors` are statuses of 400 and more", async () => {
  await using silent = await World.open();
  await silent.call("GET", "/health");
  deq(linesOf(silent), []);
  await using world = await opened({ requests: "errors" });
  await world.call("GET", "/health");
  await world.call("GET", "/api/v1/agents");
  deq(linesOf(world).map(({ route, status, actor_id }) => [route, status, actor_id]), [
    ["/api/v1/agents", 401, undefined],
  ]);
});

Deno.test("access log: a share chooses by chance, and keeps every failure of the server", async () => {
  await using world = await opened({ requests: "all", share: 0.25 });
  for (let n = 0; n < 400; n++) await world.call("GET", "/health");
  const chosen = linesOf(world).length;
  ok(chosen > 60 && chosen < 140, `${chosen} of 400`);
  await using failing = await opened({ requests: "all", share: 0 });
  const account = await failing.signUp();
  const { store } = failing.app;
  Object.assign(store, { get: () => Promise.reject(new Error("broken")) });
  await failing.raw("GET", "/api/v1/agents/agt_1", { as: account.token });
  Reflect.deleteProperty(store, "get");
  deq(linesOf(failing).map(({ status }) => status), [500]);
});

Deno.test("RELAY_ACCESS_LOG: takes precedence over the configuration, and says what it may be", async () => {
  await using off = await opened({ requests: "all" }, { RELAY_ACCESS_LOG: "off" });
  await off.call("GET", "/health");
  deq(linesOf(off), []);
  const read = (text: string) =>
    ENVIRONMENT.RELAY_ACCESS_LOG.read(text, { env: {}, readText: () => "", hosted: false });
  deq(read("0.05"), { requests: "all", share: 0.05 });
  deq(read("errors"), { requests: "errors", share: 1 });
  for (const wrong of ["on", "1.5", "-1", "5%", "0x1"]) {
    throws(() => read(wrong), /RELAY_ACCESS_LOG is .*: give off, errors, all, or a share/, wrong);
  }
});

Deno.test("RELAY_LOG_LEVEL: is info, warn or error", () => {
  const read = (text?: string) =>
    ENVIRONMENT.RELAY_LOG_LEVEL.read(text, { env: {}, readText: () => "", hosted: false });
  deq([read(), read("warn"), read("error")], ["info", "warn", "error"]);
  throws(() => read("debug"), /RELAY_LOG_LEVEL is "debug": give info, warn or error/);
});
