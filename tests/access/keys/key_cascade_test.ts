import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { dump } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { keyReason, KEYS, rotate } from "./key_fixtures.ts";
import { makeEverything, MAKERS } from "../made_with_fixtures.ts";

const revoke = (world: World, id: string, as: string, body: Record<string, unknown> = {}) =>
  world.call("POST", `${KEYS}/${id}/revoke`, { as, body });

const typesOf = (list: { type: string }[]) => list.map(({ type }) => type);

/** What a key that was stolen makes, with what a key that it made makes in turn. */
async function stolen(world: World, owner: Account) {
  const key = await world.key(owner, MAKERS);
  const own = await makeEverything(world, key.value, "own");
  const child = await world.key({ ...owner, token: key.value }, MAKERS);
  const deeper = await makeEverything(world, child.value, "deeper");
  const { body } = await world.call("POST", "/api/v1/signup", {
    body: {
      email: "thief@example.com",
      password: "password 9",
      invite_code: own.invitation.invite_code,
    },
  });
  return { key, child, own, deeper, thief: body.token as string };
}

Deno.test("api_keys.revoke: a cascade ends everything that the key made, and what those keys made", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const mine = await makeEverything(world, owner.token, "mine");
  const { key, child, own, deeper, thief } = await stolen(world, owner);
  const seen = await revoke(world, key.id, owner.token, { dry_run: true });
  const one = ["device", "ingest_token", "webhook", "integration", "repository"];
  const expected = ["api_key", ...one, "invitation", "user"].sort();
  deq([...new Set(typesOf(seen.body.would_end))].sort(), expected);
  deq([seen.body.status, seen.body.ended_total], ["active", 0]);
  const total = seen.body.would_end_total;
  eq(total, 1 + 2 * (one.length + 1) + 1 + 1);
  const done = await revoke(world, key.id, owner.token, { cascade: true });
  eq(done.status, 200);
  deq([done.body.status, done.body.ended_total, done.body.would_end], ["revoked", total, []]);
  eq((await world.call("GET", "/api/account/info", { as: thief })).status, 401);
  for (const value of [key.value, child.value, own.api_key.key, deeper.api_key.key]) {
    eq(await keyReason(world, value), "revoked");
  }
  const as = owner.token;
  for (const { webhook, integration, repository, ingest_token, device } of [own, deeper]) {
    eq((await world.call("GET", `/api/v1/webhooks/${webhook.id}`, { as })).status, 404);
    eq((await world.call("GET", `/api/v1/gitops/repos/${repository.id}`, { as })).status, 404);
    const installed = await world.call("GET", "/api/integrations", { as });
    ok(!installed.text.includes(integration.id));
    const tokens = await world.call("GET", "/api/v1/ingest-tokens", { as });
    ok(!tokens.text.includes(ingest_token.id));
    const trust = await world.call("GET", `/api/devices/${device.id}/trust`, { as });
    eq(trust.body.trusted, false);
  }
  // What the owner made otherwise goes on.
  eq(await keyReason(world, mine.api_key.key), null);
  eq((await world.call("GET", `/api/v1/webhooks/${mine.webhook.id}`, { as })).status, 200);
  eq((await world.call("GET", `/api/v1/gitops/repos/${mine.repository.id}`, { as })).status, 200);
});

Deno.test("api_keys.revoke: each thing that a cascade ends has its own event, by the caller", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { key, child, own, thief } = await stolen(world, owner);
  const { body: { user } } = await world.call("GET", "/api/account/info", { as: thief });
  await revoke(world, key.id, owner.token, { cascade: true });
  const last = async (id: string) => {
    const { event_type, actor, details } = (await eventsOf(world, owner, id)).at(-1)!;
    eq(actor, owner.userId, id);
    return [event_type, details];
  };
  deq(await last(key.id), ["api_key_revoked", { name: "a key", cascade: true }]);
  deq(await last(child.id), ["api_key_revoked", { name: "a key" }]);
  deq((await last(own.webhook.id))[0], "webhook_deleted");
  deq((await last(own.ingest_token.id))[0], "ingest_token_deleted");
  deq((await last(own.integration.id))[0], "integration_removed");
  deq((await last(own.repository.id))[0], "repository_deleted");
  deq((await last(own.device.id))[0], "device_deleted");
  deq((await last(user.id))[0], "user_deactivated");
});

Deno.test("api_keys.revoke: without a cascade only the key ends, and the answer lists what a cascade would end", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { key, child } = await stolen(world, owner);
  const { body } = await revoke(world, key.id, owner.token);
  deq([body.status, body.ended, body.ended_total], ["revoked", [], 0]);
  ok(body.would_end_total > 10);
  eq(await keyReason(world, key.value), "revoked");
  eq(await keyReason(world, child.value), null);
  eq((await revoke(world, key.id, owner.token)).status, 409);
  // A cascade may follow: it ends the rest.
  const later = await revoke(world, key.id, owner.token, { cascade: true });
  deq([later.status, later.body.ended_total], [200, body.would_end_total]);
  eq(await keyReason(world, child.value), "revoked");
});

Deno.test("api_keys.revoke: a dry run changes nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { key } = await stolen(world, owner);
  const tables = [...new Set(world.app.madeKinds.map(({ of }) => of.name))];
  const stored = () =>
    Promise.all(tables.map((table) => dump(world.kv, [owner.org, "live", table])));
  const before = await stored();
  const { status } = await revoke(world, key.id, owner.token, { dry_run: true, cascade: true });
  eq(status, 200);
  deq(await stored(), before);
  ok((await world.trail(owner)).every((type) => type !== "api_key_revoked"));
  eq(await keyReason(world, key.value), null);
});

Deno.test("api_keys.revoke: a cascade needs the rights to end each kind found, or ends nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { key } = await stolen(world, owner);
  const { value: as } = await world.key(owner, ["system:read", "system:write", "agents:admin"]);
  const refused = await revoke(world, key.id, as, { cascade: true });
  deq([refused.status, refused.body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  deq(refused.body.error.details.required, ["policy:write"]);
  eq(await keyReason(world, key.value), null);
});

Deno.test("api_keys.revoke: a cascade skips what the caller may not end, with the reason", async () => {
  await using world = await World.open();
  await world.signUp(); // the host, whose admins may change less
  const owner = await world.signUp();
  const key = await world.key(owner, MAKERS);
  const role = { name: "all of it", permissions: ["all"] };
  await world.call("POST", "/api/v1/roles", { as: key.value, body: role });
  const colleague = await world.join(owner, ["admin", "all of it"]);
  const { body } = await revoke(world, key.id, colleague.token, { cascade: true });
  deq([body.ended, body.would_end_total], [[], 1]);
  deq(body.would_end[0].type, "role");
  ok(body.would_end[0].reason.includes("have this role"));
});

Deno.test("api_keys.revoke: a cascade ends keys whose present value the key got by a rotation", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const thief = await world.key(owner, MAKERS);
  const victim = await world.key(owner, ["agents:read"]);
  const healed = await world.key(owner, ["agents:read"]);
  const taken = await rotate(world, victim.id, thief.value, 0);
  await rotate(world, healed.id, thief.value, 0);
  const again = await rotate(world, healed.id, owner.token, 0);
  const { body } = await revoke(world, thief.id, owner.token, { cascade: true });
  deq(body.ended, [{ type: "api_key", id: victim.id, space: "live" }]);
  eq(await keyReason(world, taken.body.new_key), "revoked");
  eq(await keyReason(world, again.body.new_key), null);
});

Deno.test("api_keys.revoke: on a shared store nothing that a cascade ended acts on any instance", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: false });
  const owner = await world.signUp();
  const { key, child, own } = await stolen(world, owner);
  const tell = (message: string) =>
    world.call("POST", "/api/webhooks/generic-alert", {
      body: { event: "disk", payload: { message } },
      headers: { "x-ingest-token": own.ingest_token.token },
    });
  await tell("early");
  await revoke(world, key.id, owner.token, { cascade: true });
  for (const value of [key.value, child.value, own.api_key.key]) {
    eq(await keyReason(world, value), "revoked");
  }
  await tell("late");
  const { text } = await world.call("GET", "/api/shield/alerts", { as: owner.token });
  deq([text.includes("early"), text.includes("late")], [true, false]);
});
