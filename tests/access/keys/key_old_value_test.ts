import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { rpc } from "../../mcp/client.ts";
import { World } from "../../support/world.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { HOUR_MS, KEYS, rotate } from "./key_fixtures.ts";

Deno.test("api_keys.rotate: the old value of a rotating key cannot manage credentials", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const scopes = ["system:read", "system:write", "agents:read", "agents:admin", "policy:write"];
  const key = await world.key(owner, scopes);
  const other = await world.key(owner, ["agents:read"]);
  await world.call("POST", "/api/v1/roles", {
    as: owner.token,
    body: { name: "reader", permissions: ["agents:read"] },
  });
  const { body: { new_key } } = await rotate(world, key.id, owner.token);
  const acts: [string, string, unknown?][] = [
    ["POST", KEYS, { name: "k", scopes: ["agents:read"] }],
    ["PATCH", `${KEYS}/${other.id}`, { metadata: { a: 1 } }],
    ["POST", `${KEYS}/${other.id}/rotate`],
    ["POST", `${KEYS}/${key.id}/rotate`],
    ["POST", `${KEYS}/${other.id}/revoke`],
    ["DELETE", `${KEYS}/${key.id}`],
    ["PUT", `/api/admin/limits/${key.id}`, { max_concurrent: null }],
    // What it gave to others, it would keep beyond its own end.
    ["POST", "/api/v1/invitations", { roles: ["reader"] }],
    ["POST", "/api/devices/pairing-codes"],
    ["DELETE", "/api/v1/invitations/inv_any"],
    ["POST", "/api/v1/ingest-tokens", { name: "t", purpose: "alertmanager" }],
    ["DELETE", "/api/v1/ingest-tokens/itk_any"],
  ];
  const before = await world.call("GET", KEYS, { as: owner.token });
  for (const [method, path, body] of acts) {
    const answer = await world.call(method, path, { as: key.value, body });
    deq([answer.status, answer.body.error.code], [403, "FORBIDDEN"], path);
    ok(answer.body.error.message.includes("Use the new value"));
  }
  const after = await world.call("GET", KEYS, { as: key.value });
  deq(after.body.api_keys.map((shown: { last_used: unknown }) => ({ ...shown, last_used: null })), [
    ...before.body.api_keys,
  ]);
  const made = await world.call("POST", KEYS, {
    as: new_key,
    body: { name: "k", scopes: ["agents:read"] },
  });
  eq(made.status, 201);
});

Deno.test("api_keys.rotate: until the grace period ends the old value may do everything else", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const person = await world.join(owner, ["viewer"]);
  const key = await world.key(owner, SCOPE_LIST);
  await rotate(world, key.id, owner.token, 1);
  const acts: [string, string, unknown?][] = [
    ["GET", KEYS],
    ["PATCH", "/api/shield/settings", { mode: "observe" }],
    ["POST", "/api/v1/roles", { name: "reader", permissions: ["agents:read"] }],
    ["POST", "/api/v1/roles/reader/assign", { user_id: person.userId }],
    ["POST", `/api/v1/users/${person.userId}/deactivate`],
    ["POST", "/api/v1/webhooks", {
      name: "h",
      url: "https://hooks.example/x",
      events: ["agent_connected"],
    }],
    ["POST", "/api/integrations", { type: "github", config: { token: "a-token" } }],
    ["POST", "/api/v1/gitops/repos", {
      name: "r",
      provider: "github",
      url: "https://git.example/r",
    }],
  ];
  for (const [method, path, body] of acts) {
    const { status, text } = await world.call(method, path, { as: key.value, body });
    ok(status < 300, `${path} answered ${text}`);
  }
  world.clock.nowMs += HOUR_MS;
  for (const [method, path, body] of acts) {
    eq((await world.call(method, path, { as: key.value, body })).status, 401, path);
  }
});

Deno.test("api_keys.rotate: each use of the old value is marked in the audit log, and no use of the new one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, SCOPE_LIST);
  const { body: { new_key } } = await rotate(world, key.id, owner.token);
  const use = async (as: string) => {
    await world.call("GET", "/api/v1/agents", { as });
    await world.call("POST", KEYS, { as, body: { name: "k", scopes: ["agents:read"] } });
    await world.call("PUT", "/api/v1/roles/none", { as, body: { permissions: ["agents:read"] } });
    await rpc(world, "tools/call", { name: "list_secrets", arguments: {} }, { as });
    const rows = await eventsOf(world, owner, key.id);
    return rows.filter(({ event_type }) => event_type === "api_key_used")
      .map(({ details }) => details.old_value);
  };
  const old = await use(key.value);
  ok(old.length >= 4);
  deq(old, old.map(() => true));
  const both = await use(new_key);
  deq(both.slice(old.length), old.map(() => undefined));
});

Deno.test("api_keys.rotate: administrators are notified when the old value, not the new one, changes the shield or roles", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, SCOPE_LIST, { name: "ci" });
  const { body: { new_key } } = await rotate(world, key.id, owner.token);
  const told = async () => {
    const { body } = await world.call("GET", "/api/account/notifications", { as: owner.token });
    const own = body.notifications.filter(({ type }: { type: string }) =>
      type === "old_key_value_used"
    );
    return own.map(({ details }: { details: Record<string, unknown> }) => details.change).reverse();
  };
  const shield = (as: string, mode: string) =>
    world.call("PATCH", "/api/shield/settings", { as, body: { mode } });
  const role = (as: string, name: string) =>
    world.call("POST", "/api/v1/roles", { as, body: { name, permissions: ["agents:read"] } });
  await shield(new_key, "observe");
  await role(new_key, "one");
  deq(await told(), []);
  await shield(key.value, "enforce");
  deq(await told(), ["shield_changed"]);
  await role(key.value, "two");
  // The same kind of change within ten minutes is not told again.
  await shield(key.value, "enforce");
  await role(key.value, "three");
  deq(await told(), ["shield_changed", "role_created"]);
  world.clock.nowMs += 10 * 60 * 1000;
  await role(key.value, "four");
  deq(await told(), ["shield_changed", "role_created", "role_created"]);
});
