import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { changesOf, leavesOf } from "../../core/host/configuration/changes.ts";
import type { ConfigSource } from "../../core/context/config.ts";
import { type Account, World } from "../support/world.ts";

/** A relay whose configuration is a file that a test writes. */
async function withFile(text: string) {
  const file = { text };
  const configSource: ConfigSource = {
    kind: "file",
    path: "relay.json",
    read() {
      if (file.text === "gone") throw new Error("no such file");
      return file.text;
    },
  };
  const world = await World.open({
    config: JSON.parse(text),
    settings: { configSource },
    environment: { RELAY_CONFIG: "relay.json" },
  });
  const host = await world.signUp();
  return { world, host, file };
}

const reload = (world: World, { token }: Account) =>
  world.call("POST", "/api/admin/config/reload", { as: token });
const get = (world: World, { token }: Account) =>
  world.call("GET", "/api/admin/config", { as: token });
const valueOf = async (world: World, account: Account, path: string) =>
  (await get(world, account)).body.values.find((one: { path: string }) => one.path === path);

Deno.test("config: every value in force with its source, and no secret", async () => {
  const { world, host } = await withFile(`{"plans":{"team":{"requests_per_minute":9}}}`);
  await using _ = world;
  deq(await valueOf(world, host, "plans.team.requests_per_minute"), {
    path: "plans.team.requests_per_minute",
    value: 9,
    source: "file",
    changes_by: "reload",
  });
  const retention = await valueOf(world, host, "retention_days.deliveries");
  deq([retention.value, retention.source], [30, "default"]);
  const secret = await valueOf(world, host, "RELAY_SECRET");
  deq([secret.value, secret.changes_by], ["********", "restart"]);
  ok(!(await get(world, host)).text.includes(world.app.settings.secret!));
});

Deno.test("config: shows whether private addresses are dialled, and records a change", async () => {
  const { world, host, file } = await withFile("{}");
  await using _ = world;
  const path = "outbound.allow_private_targets";
  eq((await valueOf(world, host, path)).value, false);
  file.text = `{"outbound":{"allow_private_targets":true}}`;
  const change = { path, change: "changed", before: false, after: true };
  deq((await reload(world, host)).body.changes, [{ ...change, in_force: "now" }]);
  eq((await valueOf(world, host, path)).value, true);
  const { body } = await world.call("GET", "/api/audit?event_type=config_reloaded", {
    as: host.token,
  });
  deq(body.events[0].details.changes, [change]);
});

Deno.test("config: shows the store's address without its possible secrets", async () => {
  const kv = "https://me:hidden@db.example.com:99999/store?token=hidden";
  await using world = await World.open({ environment: { RELAY_KV: kv } });
  const { value } = await valueOf(world, await world.signUp(), "RELAY_KV");
  eq(value, "https://db.example.com:99999/store");
});

Deno.test("config: another organization sees its own limits and cannot reload", async () => {
  const { world } = await withFile("{}");
  await using _ = world;
  const guest = await world.signUp();
  const { body } = await get(world, guest);
  deq(
    [...new Set(body.values.map(({ path }: { path: string }) => path.split(".")[0]))],
    ["limits", "plan"],
  );
  eq((await reload(world, guest)).status, 403);
});

Deno.test("config: a reload returns the differences, which apply from the next request", async () => {
  const { world, host, file } = await withFile("{}");
  await using _ = world;
  const key = await world.key(host, ["agents:read"]);
  const limit = async () =>
    (await world.call("GET", "/api/v1/agents", { as: key.value })).headers.get("x-ratelimit-limit");
  eq(await limit(), "100");
  file.text = JSON.stringify({
    limits: { live: { requests_per_minute: 7 } },
    plans: { gold: { requests_per_minute: 5000 } },
    allowed_origins: ["https://console.example.com"],
    trusted_proxies: ["10.0.0.0/8"],
  });
  const { status, body } = await reload(world, host);
  eq(status, 200);
  deq(
    body.changes,
    [
      ["allowed_origins", "changed", [], ["https://console.example.com"]],
      ["limits.live.requests_per_minute", "changed", 100, 7],
      ["plans.gold.requests_per_minute", "added", null, 5000],
      ["trusted_proxies", "changed", [], ["10.0.0.0/8"]],
    ].map(([path, change, before, after]) => ({ path, change, before, after, in_force: "now" })),
  );
  eq(await limit(), "7");
  eq(world.app.settings.local, false, "behind a proxy the server is not local any more");
  const plans = await world.call("GET", "/api/admin/plans", { as: host.token });
  ok(plans.body.plans.some(({ id }: { id: string }) => id === "gold"));
  const again = await reload(world, host);
  deq(again.body.changes, []);
  const trail = await world.trail(host);
  eq(trail.filter((type) => type === "config_reloaded").length, 2);
});

Deno.test("config: a change of any size is put in force, and its event records as much as fits", async () => {
  const { world, host, file } = await withFile("{}");
  await using _ = world;
  const legal_hold = Array.from({ length: 1000 }, (_, n) => `org_${n}_${"x".repeat(40)}`);
  const plans = Object.fromEntries(
    Array.from(
      { length: 300 },
      (_, n) => [`${"plan".repeat(15)}${n}`, { requests_per_minute: n + 1 }],
    ),
  );
  file.text = JSON.stringify({ legal_hold, plans });
  const { status, body } = await reload(world, host);
  eq(status, 200);
  eq(body.changes.length, 301);
  deq(body.changes[0].after, legal_hold);
  deq((await valueOf(world, host, "legal_hold")).value, legal_hold);
  const { events } = (await world.call("GET", "/api/audit?event_type=config_reloaded", {
    as: host.token,
  })).body;
  const { changes, changes_total } = events[0].details;
  eq(changes_total, 301);
  ok(changes.length < 301 && changes.length > 20, `${changes.length} changes`);
  ok(/^sha256:[0-9a-f]{64}$/.test(changes[0].after), JSON.stringify(changes[0]));
});

Deno.test("config: an invalid configuration is refused with each fault's path, and the old one stays", async () => {
  const { world, host, file } = await withFile(`{"retention_days":{"deliveries":7}}`);
  await using _ = world;
  const before = (await get(world, host)).text;
  const bad: [string, string[]][] = [
    [`{"retention_days":{"deliveries":0},"limits":{"public_per_minute":"many"}}`, [
      "limits.public_per_minute",
      "retention_days.deliveries",
    ]],
    [`{"default_plan":"none"}`, ["default_plan"]],
    [`{"limitz":{}}`, [""]],
    ["{", [""]],
    ["gone", [""]],
  ];
  for (const [text, paths] of bad) {
    file.text = text;
    const { status, body } = await reload(world, host);
    eq(status, 400, text);
    deq(body.error.details.issues.map(({ path }: { path: string }) => path).sort(), paths);
    ok(body.error.details.issues[0].message.length > 0);
    eq((await get(world, host)).text, before);
  }
  ok(!(await world.trail(host)).includes("config_reloaded"));
});

Deno.test("changesOf: masks values whose names say that they are secret", () => {
  const [change] = changesOf(
    leavesOf({ oauth: { client_secret: "old" } }),
    leavesOf({ oauth: { client_secret: "new" } }),
  );
  deq(change, {
    path: "oauth.client_secret",
    change: "changed",
    before: "********",
    after: "********",
  });
});
