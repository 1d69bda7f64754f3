import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { webhooks } from "../../kv/records/webhook.ts";
import { type Account, type Answer, World } from "../support/world.ts";
import { makeHook } from "../support/linked_agent.ts";

const HOOKS = "/api/v1/webhooks";
const HEADERS = { "Authorization": "Bearer very-secret", "X-Team": "ops" };

const read = async (world: World, { token }: Account, path: string) =>
  (await world.call("GET", path, { as: token })).body;

const issuesOf = ({ status, body }: Answer) => [
  status,
  body.error.details.issues.map(({ path }: { path: string }) => path),
];

/** Each path whose record can be read, changed and sent back: its method, a change, a field that stays. */
const CHANGES: readonly (readonly [
  method: string,
  make: (world: World, owner: Account) => Promise<string>,
  change: Record<string, unknown>,
  readOnly: Record<string, unknown>,
])[] = [
  [
    "PATCH",
    async (world, owner) => `${HOOKS}/${(await makeHook(world, owner, ["agent_created"])).id}`,
    { name: "renamed", active: false, custom_headers: { "X-Team": "dev" } },
    { id: "whk_another", delivery_count: 7, created_at: "2031-01-01T00:00:00.000Z" },
  ],
  [
    "PATCH",
    async (world, owner) => `/api/v1/api-keys/${(await world.key(owner, ["agents:read"])).id}`,
    { name: "ci", scopes: ["agents:read", "audit:read"], metadata: { team: "ops" } },
    { description: "another", type: "test", status: "revoked" },
  ],
  [
    "PUT",
    async (world, { token }) => {
      const body = { name: "deployers", permissions: ["agents:read"] };
      await world.call("POST", "/api/v1/roles", { as: token, body });
      return "/api/v1/roles/deployers";
    },
    { permissions: ["agents:read", "agents:write"] },
    { name: "others", built_in: true },
  ],
  [
    "PATCH",
    () => Promise.resolve("/api/shield/settings"),
    { mode: "observe" },
    {
      policy_version: "another",
      patterns: {
        disabled_packs: ["git"],
        disabled_rules: [],
        watched_packs: [],
        watched_rules: [],
      },
    },
  ],
];

for (const [method, make, change, readOnly] of CHANGES) {
  const named = Object.keys(change).join(", ");
  Deno.test(`read-modify-write: a record that was read can be changed and sent back (${named})`, async () => {
    await using world = await World.open();
    const owner = await world.signUp();
    const path = await make(world, owner);
    const record = await read(world, owner, path);
    const same = await world.call(method, path, { as: owner.token, body: record });
    eq(same.status, 200, same.text);
    deq(same.body, { ...record, ...(record.updated_at && { updated_at: same.body.updated_at }) });
    for (const [field, value] of Object.entries(readOnly)) {
      const body = { ...record, ...change, [field]: value };
      const refused = await world.call(method, path, { as: owner.token, body });
      deq(issuesOf(refused), [400, [`body.${field}`]], field);
      deq(await read(world, owner, path), same.body);
    }
    const changed = await world.call(method, path, {
      as: owner.token,
      body: { ...same.body, ...change },
    });
    eq(changed.status, 200, changed.text);
    for (const [field, value] of Object.entries(change)) deq(changed.body[field], value, field);
  });
}

Deno.test("read-modify-write: a plan that was read can be changed and sent back, unlimited and configured ones too", async () => {
  const config = { plans: { starter: { requests_per_minute: 5_000 } } };
  await using world = await World.open({ config });
  const { token: as } = await world.signUp();
  const PLANS = "/api/admin/plans";
  const body = { name: "Free", price: 1, features: [], requests_per_minute: null };
  await world.call("POST", PLANS, { as, body });
  const { plans } = (await world.call("GET", PLANS, { as })).body;
  ok(plans.some(({ limit_source }: { limit_source: string }) => limit_source === "configuration"));
  ok(plans.some((plan: typeof body) => plan.requests_per_minute === 2_147_483_647));
  for (const plan of plans) {
    const path = `${PLANS}/${plan.id}`;
    const changed = await world.call("PUT", path, { as, body: { ...plan, price: 7 } });
    eq(changed.status, 200, changed.text);
    deq(changed.body, { ...plan, price: 7, updated_at: changed.body.updated_at });
    const refused = await world.call("PUT", path, { as, body: { ...changed.body, accounts: 99 } });
    deq(issuesOf(refused), [400, ["body.accounts"]]);
  }
});

Deno.test("webhooks.update: a mask that is sent back keeps the stored value, and is never stored", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await makeHook(world, owner, ["agent_created"], { headers: HEADERS });
  const path = `${HOOKS}/${id}`;
  const { value: as } = await world.key(owner, ["system:read", "system:write", "agents:read"]);
  const masked = (await world.call("GET", path, { as })).body;
  deq(masked.custom_headers, { "Authorization": "********", "X-Team": "********" });
  const body = { ...masked, custom_headers: { ...masked.custom_headers, "X-Team": "dev" } };
  eq((await world.call("PATCH", path, { as, body })).status, 200);
  const kept = { ...HEADERS, "X-Team": "dev" };
  deq((await read(world, owner, path)).custom_headers, kept);
  const tenant = { org: owner.org, space: "live" } as const;
  const before = await world.app.store.get(webhooks, tenant, id);
  for (const field of ["headers", "custom_headers"]) {
    const unknown = { [field]: { "X-Other": "********" } };
    const refused = await world.call("PATCH", path, { as, body: unknown });
    deq(issuesOf(refused), [400, [`body.${field}.X-Other`]]);
  }
  const moved = await world.call("PATCH", path, {
    as,
    body: { ...masked, url: "https://other.example.com/" },
  });
  deq([moved.status, moved.body.error.details.required], [403, ["secrets:read"]]);
  deq(await world.app.store.get(webhooks, tenant, id), before);
  const copy = { name: "copy", url: masked.url, events: masked.events };
  const made = await world.call("POST", HOOKS, {
    as,
    body: { ...copy, headers: masked.custom_headers },
  });
  eq(made.status, 400);
});

Deno.test("webhooks.update: what deliveries count between the read and the change is no fault of the caller's", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await makeHook(world, owner, ["agent_created"]);
  const path = `${HOOKS}/${id}`;
  const record = await read(world, owner, path);
  await world.call("POST", `${path}/test`, { as: owner.token });
  await world.shareCounts();
  const now = await read(world, owner, path);
  deq([record.delivery_count, now.delivery_count], [0, 1]);
  const body = { ...record, name: "renamed" };
  eq((await world.call("PATCH", path, { as: owner.token, body })).status, 200);
  for (const ahead of [{ delivery_count: 2 }, { last_delivery_at: "2031-01-01T00:00:00.000Z" }]) {
    const refused = await world.call("PATCH", path, {
      as: owner.token,
      body: { ...now, ...ahead },
    });
    deq(issuesOf(refused).at(1), [`body.${Object.keys(ahead)[0]}`]);
  }
});

Deno.test("webhooks.update: sending back unchanged events and headers takes no right to steer them", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await makeHook(world, owner, ["agent_created"], { headers: HEADERS });
  const { value: as } = await world.key(owner, ["system:read", "system:write"]);
  const body = { ...(await world.call("GET", `${HOOKS}/${id}`, { as })).body, name: "renamed" };
  const answer = await world.call("PATCH", `${HOOKS}/${id}`, { as, body });
  deq([answer.status, answer.body.name], [200, "renamed"]);
});

Deno.test("webhooks.update: `active` enables and disables as the actions do, on record", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await makeHook(world, owner, ["agent_created"]);
  const set = async (active: boolean) =>
    (await world.call("PATCH", `${HOOKS}/${id}`, { as: owner.token, body: { active } })).body;
  eq((await set(false)).active, false);
  eq((await set(false)).active, false);
  const on = await set(true);
  deq([on.active, typeof on.release_id], [true, "string"]);
  const own = (await world.trail(owner)).filter((type) => type.startsWith("webhook_"));
  deq(own, ["webhook_created", "webhook_disabled", "webhook_enabled"]);
  const both = { headers: {}, custom_headers: {} };
  const refused = await world.call("PATCH", `${HOOKS}/${id}`, { as: owner.token, body: both });
  deq(issuesOf(refused), [400, ["body.custom_headers"]]);
});

Deno.test("webhooks.test: a disabled webhook is 409 that says how to enable it, and nothing is sent", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await makeHook(world, owner, ["agent_created"], { active: false });
  const answer = await world.call("POST", `${HOOKS}/${id}/test`, { as: owner.token });
  deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
  match(answer.body.error.message, new RegExp(`POST /api/v1/webhooks/${id}/enable`));
  await world.settle();
  eq(world.network.sent.length, 0);
  const log = await read(world, owner, `${HOOKS}/${id}/deliveries`);
  eq(log.pagination.total, 0);
});

Deno.test("audit.register: the answer is the record as the log shows it, but for its number", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const body = { event_type: "deploy.finished", actor: "robot", details: { version: 7 } };
  const answer = await world.call("POST", "/api/audit/event", { as: owner.token, body });
  eq(answer.status, 201);
  const { events } = await read(world, owner, "/api/audit?event_type=deploy.finished");
  const { seq, ...row } = events[0];
  ok(seq > 0);
  deq(answer.body, row);
});
