import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import { World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const SIGNUP = "/api/v1/signup";
const BODY = JSON.stringify({ email: "a@example.com", password: "password 1", organization: "A" });
const JSON_TYPE = { "content-type": "application/json" };
const bytes = (text: string) => new TextEncoder().encode(text);

async function stored(world: World): Promise<number> {
  let rows = 0;
  for (const _ of await rawRows(world.kv)) rows++;
  return rows;
}

/** A request as a browser or a program sends it, to this host. */
function ask(world: World, method: string, url: string, headers: Record<string, string>) {
  const body = method === "POST" ? bytes(BODY) : null;
  return world.send(new Request(url, { method, headers, body }));
}

Deno.test("local server: a foreign Host or Origin is refused on every route, with what to set", async () => {
  await using world = await World.open();
  const before = await stored(world);
  const others = [{ method: "GET", path: "/ws" }, { method: "POST", path: "/mcp" }];
  for (const { method, path } of [...routes, ...others, { method: "GET", path: "/nothing" }]) {
    const at = path.replaceAll(/\{\w+\}/g, "x_1");
    for (
      const [url, headers, names] of [
        [`http://evil.example:9081${at}`, {}, /evil\.example:9081.*RELAY_PUBLIC_URL/],
        [`http://localhost.evil.example${at}`, {}, /RELAY_PUBLIC_URL/],
        [`http://localhost:9081${at}`, { host: "evil.example" }, /RELAY_PUBLIC_URL/],
        [`http://localhost:9081${at}`, { origin: "https://evil.example" }, /allowed_origins/],
        [`http://localhost:9081${at}`, { origin: "null" }, /allowed_origins/],
        [`http://localhost:9081${at}`, { origin: "http://localhost:3000" }, /allowed_origins/],
        [`http://localhost:9081${at}`, { "sec-fetch-site": "cross-site" }, /allowed_origins/],
      ] as const
    ) {
      const answer = await ask(world, method, url, { ...JSON_TYPE, ...headers });
      const { error } = await answer.json();
      deq([answer.status, error.code], [403, "FORBIDDEN"], `${method} ${url}`);
      ok(names.test(error.message), error.message);
      eq(error.details.request_id, answer.headers.get("x-request-id"));
    }
  }
  eq(await stored(world), before);
});

Deno.test("local server: serves its own names and pages, plain clients, and links from outside", async () => {
  for (
    const [host, headers] of [
      ["localhost:9081", {}],
      ["127.0.0.1:9081", { origin: "http://127.0.0.1:9081", "sec-fetch-site": "same-origin" }],
      ["[::1]:9081", { origin: "http://localhost:9081" }],
      ["localhost:9081", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }],
    ] as const
  ) {
    await using world = await World.open();
    const answer = await ask(world, "POST", `http://${host}${SIGNUP}`, {
      ...JSON_TYPE,
      ...headers,
    });
    eq(answer.status, 201, await answer.text());
  }
  await using world = await World.open();
  const followed = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  eq((await world.raw("GET", "/docs", { headers: followed })).status, 200);
  eq(
    (await ask(world, "POST", `http://localhost${SIGNUP}`, { ...JSON_TYPE, ...followed })).status,
    403,
  );
});

Deno.test("local server: a body without the JSON type gets 415 and signs nobody up", async () => {
  await using world = await World.open();
  const before = await stored(world);
  for (const type of [null, "text/plain", "application/x-www-form-urlencoded"]) {
    const headers: Record<string, string> = type === null ? {} : { "content-type": type };
    const answer = await ask(world, "POST", `http://localhost${SIGNUP}`, headers);
    const { error } = await answer.json();
    deq([answer.status, error.code], [415, "UNSUPPORTED_MEDIA_TYPE"]);
    ok(error.message.includes("application/json"), error.message);
    eq((await ask(world, "POST", "http://localhost/mcp", headers)).status, 415);
  }
  eq(await stored(world), before);
  // Others take a missing type for JSON, as senders without one expect.
  await using open = await World.open({ settings: { local: false } });
  const wrong = await ask(open, "POST", `http://localhost${SIGNUP}`, {});
  eq(wrong.status, 403, "asks for the claim code");
});

Deno.test("local server: a first signup through a proxy needs the claim code, and changes nothing without it", async () => {
  await using world = await World.open();
  const before = await stored(world);
  const proxied = [
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
    "Via",
    "CF-Connecting-IP",
    "CF-Ray",
    "True-Client-IP",
    "CDN-Loop",
  ];
  for (const name of proxied) {
    const answer = await ask(world, "POST", `http://localhost${SIGNUP}`, {
      ...JSON_TYPE,
      [name]: "127.0.0.1",
    });
    const { error } = await answer.json();
    deq([answer.status, error.code], [403, "FORBIDDEN"], name);
    ok(/claim_code.*RELAY_PUBLIC_URL/.test(error.message), error.message);
  }
  eq(await stored(world), before);
  eq((await ask(world, "POST", `http://localhost${SIGNUP}`, JSON_TYPE)).status, 201);
});
