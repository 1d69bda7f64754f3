import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { migrate, SCHEMA_KEY } from "../../kv/maintenance/migrations.ts";
import { webhooks } from "../../kv/records/webhook.ts";
import { World } from "../support/world.ts";
import { makeHook } from "../support/linked_agent.ts";
import { KEYS } from "./keys/key_fixtures.ts";
import { makeEverything, MAKERS } from "./made_with_fixtures.ts";
import { putRaw, rawRows } from "../support/raw_rows.ts";

Deno.test("created_with: everything that a key or a sign-in makes names it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { body } = await world.call("GET", "/api/account/sessions", { as: owner.token });
  const session = { kind: "session", id: body.sessions[0].id };
  const key = await world.key(owner, MAKERS);
  const bySession = await makeEverything(world, owner.token, "session");
  const byKey = await makeEverything(world, key.value, "key");
  for (const [type, made] of Object.entries(bySession)) {
    deq(made.created_with ?? made.invited_with, session, type);
  }
  for (const [type, made] of Object.entries(byKey)) {
    deq(made.created_with ?? made.invited_with, { kind: "api_key", id: key.id }, type);
  }
});

Deno.test("created_with: records of earlier versions are read, and found by their key", async () => {
  await using world = await World.open({ sole: false });
  const owner = await world.signUp();
  const key = await world.key(owner, MAKERS);
  const hook = await makeHook(world, { ...owner, token: key.value }, ["agent_created"]);
  const mine = await makeHook(world, owner, ["agent_created"]);
  const tenant = { org: owner.org, space: "live" } as const;
  for (const { id } of [hook, mine]) {
    const { created_with: _, ...stored } = (await world.app.store.get(webhooks, tenant, id))!;
    await putRaw(world.kv, webhooks, tenant, stored);
  }
  for (const { key } of await rawRows(world.kv, { ...tenant, kind: "webhooks.made_with" })) {
    await world.kv.delete(key);
  }
  await world.kv.set(SCHEMA_KEY, 1);
  await migrate(world.app.store);
  const made = { index: "made_with", prefix: ["api_key", key.id], limit: 10 };
  const { items } = await world.app.store.list(webhooks, tenant, made);
  deq(items.map(({ id, created_with }) => [id, created_with]), [[hook.id, null]]);
  const read = await world.call("GET", `/api/v1/webhooks/${mine.id}`, { as: owner.token });
  deq([read.status, read.body.created_with], [200, null]);
});

Deno.test("created_with: a key that is revoked meanwhile creates nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, MAKERS);
  let revoked = false;
  // The key is accepted, and revoked before the change that it asked for begins.
  const transacts = world.apps.map(({ store }) => {
    const { transact } = store;
    store.transact = async (work) => {
      if (!revoked) {
        revoked = true;
        await world.call("POST", `${KEYS}/${key.id}/revoke`, { as: owner.token });
      }
      return await transact.call(store, work) as never;
    };
    return { store, transact };
  });
  const body = { name: "late", purpose: "generic" };
  const { status } = await world.call("POST", "/api/v1/ingest-tokens", { as: key.value, body });
  for (const { store, transact } of transacts) store.transact = transact;
  eq(status, 401);
  const left = await world.call("GET", "/api/v1/ingest-tokens", { as: owner.token });
  deq(left.body.ingest_tokens, []);
});
