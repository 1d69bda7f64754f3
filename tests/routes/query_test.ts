import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import { OWN_PAGE, World } from "../support/world.ts";

/** What monitors and hosts call by addresses that others have added parameters to. */
const OPEN_QUERIES = [
  "health.live",
  "health.detail",
  "health.metrics",
  "receivers.alertmanager",
  "receivers.generic",
  "receivers.git",
  "receivers.telegram",
];

Deno.test("query: an unknown query parameter is ignored by health, metrics and receivers, and refused elsewhere", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const ignoring = routes.filter((route) => route.ignoresUnknownQuery).map(({ id }) => id);
  deq(ignoring.sort(), OPEN_QUERIES.toSorted());
  for (const path of ["/healthz", "/health", "/metrics"]) {
    for (const query of ["?surprise=1", "?a=1&a=2&token=x", "?"]) {
      eq((await world.call("GET", path + query, { as: token })).status, 200, path + query);
    }
  }
  for (const path of ["/api/webhooks/alertmanager", "/api/webhooks/generic-alert"]) {
    eq((await world.call("POST", `${path}?surprise=1`, { body: {} })).status, 202);
    const twice = await world.call("POST", `${path}?token=a&token=b`, { body: {} });
    eq(twice.status, 400, "a known parameter still counts once");
  }
  for (const { id, method, path, params, query, body } of routes) {
    if (query !== undefined || OPEN_QUERIES.includes(id)) continue;
    const at = params === undefined ? path : path.replaceAll(/\{\w+\}/g, "x_1");
    const answer = await world.call(method, `${at}?surprise=1`, {
      as: token,
      headers: OWN_PAGE,
      ...(body && { body: {} }),
    });
    eq(answer.status, 400, `${id} answered ${answer.text}`);
    deq(answer.body.error.details.issues[0].path, "query", id);
  }
  eq((await world.call("GET", "/ws?surprise=1", { as: token })).status, 400);
});

Deno.test("query: `_` and `utm_*` are ignored in every query", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const noise = "_=1700000000&_=2&utm_source=mail&utm_=x";
  const paths = ["/api/v1/agents?limit=1&", "/api/account/info?", "/docs?", "/api/v1/events?"];
  for (const path of paths) {
    const answer = await world.raw("GET", path + noise, { as });
    eq(answer.status, 200, path);
    await answer.body?.cancel();
  }
  eq((await world.call("GET", "/api/account/info?_=1", { as })).status, 200);
  eq((await world.call("GET", `/ws?${noise}`, { as })).status, 426);
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  eq((await world.raw("POST", `/mcp?${noise}`, { as, body: ping })).status, 200);
  for (const near of ["__=1", "utm=1", "UTM_source=1"]) {
    eq((await world.call("GET", `/api/account/info?${near}`, { as })).status, 400, near);
  }
});

Deno.test("query: a repeated query parameter is refused on every route", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  for (const path of ["/api/v1/agents?limit=1&limit=2", "/ws?types=a&types=b", "/docs?a=1&a=2"]) {
    const answer = await world.call("GET", path, { as });
    eq(answer.status, 400, path);
    const [, name] = /[?](\w+)=/.exec(path)!;
    deq(answer.body.error.details.issues[0], {
      path: `query.${name}`,
      message: "is given more than once",
    });
  }
});
