import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import type { z } from "zod";
import { makeSealer } from "../../core/codec/seal.ts";
import { rotateSecret } from "../../core/host/secrets/rotate.ts";
import { SEALED } from "../../core/host/secrets/sealed.ts";
import { type BackupRecord, backups } from "../../kv/records/backup.ts";
import type { Collection } from "../../kv/store/collection.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { Sealed } from "../../kv/records/fields.ts";
import { webhooks } from "../../kv/records/webhook.ts";
import { Store } from "../../kv/store/store.ts";
import { connected, refresh, toolsOf } from "../access/mcp_clients/fixtures.ts";
import { ManualClock } from "../support/clock.ts";
import { committing, shared, strictKv } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { tool } from "../mcp/client.ts";
import { putRaw, rawRows } from "../support/raw_rows.ts";

const OLD = "a secret for tests, long enough";
const NEW = "another secret for tests, as long";
const entropy = { bytes: (n: number) => crypto.getRandomValues(new Uint8Array(n)) };
const SEALED_TEXT = /^v1\.[A-Za-z0-9_-]{8}\.[A-Za-z0-9_-]{38,}$/;

/** The paths of a schema's sealed fields. */
function sealedPaths(schema: z.ZodType, path = ""): string[] {
  if (schema === Sealed) return [path];
  const def = schema._zod.def as unknown as Record<string, unknown> & { type: string };
  const under = (inner: unknown, name: string) =>
    sealedPaths(inner as z.ZodType, path === "" ? name : `${path}.${name}`);
  switch (def.type) {
    case "object":
      return Object.entries(def["shape"] as object).flatMap(([name, inner]) => under(inner, name));
    case "array":
      return under(def["element"], "[]");
    case "record":
      return under(def["valueType"], "*");
    case "union":
      return (def["options"] as z.ZodType[]).flatMap((inner) => sealedPaths(inner, path));
    default:
      return def["innerType"] === undefined ? [] : sealedPaths(def["innerType"] as z.ZodType, path);
  }
}

async function collections(): Promise<Collection<{ id: string }>[]> {
  const found: Collection<{ id: string }>[] = [];
  const folder = new URL("../../kv/records/", import.meta.url);
  for await (const { name } of Deno.readDir(folder)) {
    const exported = Object.values(await import(new URL(name, folder).href));
    for (const each of exported as Partial<Collection<{ id: string }>>[]) {
      if (each.queue !== undefined) found.push(each as Collection<{ id: string }>);
    }
  }
  return found;
}

Deno.test("sealed: every sealed field of every collection is in the table that a rotation goes through", async () => {
  const all = await collections();
  ok(all.length >= 10, "the collections were not found");
  const declared = all.flatMap(({ name, schema }) =>
    sealedPaths(schema).map((path) => `${name}.${path}`)
  );
  const known = SEALED.flatMap(({ of, fields }) => fields.map((field) => `${of.name}.${field}`));
  deq(known.sort(), declared.sort());
});

/** Everything in a store that looks sealed, with where it is: `collection.field`. */
async function sealedTexts(kv: Deno.Kv): Promise<{ where: string; id: string; text: string }[]> {
  const found: { where: string; id: string; text: string }[] = [];
  const look = (value: unknown, where: string, id: string) => {
    if (typeof value === "string") {
      if (SEALED_TEXT.test(value)) found.push({ where, id, text: value });
    } else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) {
      for (const [name, inner] of Object.entries(value)) look(inner, `${where}.${name}`, id);
    }
  };
  for (const { value, kind, id } of await rawRows(kv)) {
    look(value, kind, id);
  }
  return found;
}

/** Something sealed of every kind, in both spaces of two organizations. */
async function furnish(world: World): Promise<Account> {
  const owner = await world.signUp();
  const hook = {
    name: "hook",
    url: "https://hooks.example.com/x",
    secret: "a webhook's secret",
    events: ["command_executed"],
    headers: { "x-token": "a header's secret" },
  };
  for (const account of [owner, await world.signUp()]) {
    for (const space of ["live", "test"]) {
      for (let n = 0; n < 6; n++) await world.key(account, ["agents:read"], { type: space });
      const headers = { "x-relay-space": space };
      const as = { as: account.token, headers };
      const made = await world.call("POST", "/api/v1/webhooks", { ...as, body: hook });
      eq(made.status, 201);
      const repository = {
        name: "policies",
        provider: "gitlab",
        url: "https://git.example.com/acme/policies.git",
        token: "a repository's token",
        webhook_secret: "a repository's secret",
      };
      const registered = await world.call("POST", "/api/v1/gitops/repos", {
        ...as,
        body: repository,
      });
      eq(registered.status, 201);
      const body = { secret: "a webhook's next secret" };
      const path = `/api/v1/webhooks/${made.body.id}`;
      eq((await world.call("PATCH", path, { ...as, body })).status, 200);
    }
  }
  await keptAnswer(world, owner);
  await keptBackup(world, owner);
  await connectIntegrations(world, owner);
  await connected(world, owner);
  const enrol = { as: owner.token, body: { password: "password 1" } };
  eq((await world.call("POST", "/api/account/second-factor", enrol)).status, 201);
  return owner;
}

/** A backup as it lies in the store once it is complete. */
async function keptBackup({ app: { store, sealer } }: World, { org }: Account): Promise<void> {
  const id = "bkp_1";
  const record: BackupRecord = {
    id,
    agent_id: "agt_1",
    status: "complete",
    attempt: 1,
    instance: "i_1",
    error: null,
    created_by: "usr_1",
    created_at_ms: 0,
    finished_at_ms: 0,
    reason: "requested",
    sha256: "",
    files_sha256: "",
    bytes: 0,
    stored_bytes: 0,
    files: 0,
    roots: [],
    blobs: [],
    sealed_key: sealer.seal("the key of an archive", id),
  };
  await store.transact((tx) => tx.insert(backups, { org, space: "live" }, record));
}

/** An answer that stays on record for its idempotency key. */
async function keptAnswer(world: World, owner: Account): Promise<void> {
  const given = { as: owner.token, body: { source: "tests", alerts: [{ name: "disk full" }] } };
  await world.call("POST", "/api/shield/ingest", given);
  const { alerts: [alert] } =
    (await world.call("GET", "/api/shield/alerts", { as: owner.token })).body;
  const { body } = await tool(world, "resolve_alert", { alert_id: alert.alert_id }, {
    as: owner.token,
    headers: { "idempotency-key": "once" },
  });
  ok(!body.result.isError, JSON.stringify(body));
}

/** One integration with tokens and an open flow, and one that is gone, whose tokens nobody could revoke yet. */
async function connectIntegrations(world: World, { token: as }: Account): Promise<void> {
  const provider = "https://login.example.com";
  world.network.reply = ({ url }) =>
    url === `${provider}/token`
      ? {
        status: 200,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          access_token: "an access token",
          refresh_token: "a refresh token",
          token_type: "bearer",
          expires_in: 3600,
        }),
      }
      : 503;
  const begin = async (integration_id: string) => {
    const body = { integration_id };
    return (await world.call("POST", "/api/integrations/oauth/begin", { as, body })).body.state;
  };
  const connect = async () => {
    const config = {
      authorization_endpoint: `${provider}/authorize`,
      token_endpoint: `${provider}/token`,
      revocation_endpoint: `${provider}/revoke`,
      client_id: "relay",
      client_secret: "a-client-secret",
    };
    const body = { type: "oauth2", config };
    const { id } = (await world.call("POST", "/api/integrations", { as, body })).body;
    const back = `/api/integrations/oauth/callback?code=c&state=${await begin(id)}`;
    eq((await world.call("GET", back, { as })).status, 200);
    return id;
  };
  await begin(await connect());
  eq((await world.call("DELETE", `/api/integrations/${await connect()}`, { as })).status, 204);
}

const storeOf = (kv: Deno.Kv, sole = true) =>
  new Store(kv, { clock: new ManualClock(), sole, hasQueue: false });
const both = () => makeSealer(NEW, entropy, [OLD]);
const rotate = (kv: Deno.Kv, sole = true) => rotateSecret(storeOf(kv, sole), both(), () => {});
const only = (secret: string) => ({ settings: { secret, olderSecrets: [] } });

/** What each sealed text of a store says, and whether a secret alone opens all of them. */
async function contents(kv: Deno.Kv, secret: string, ...older: string[]) {
  const sealer = makeSealer(secret, entropy, older);
  return (await sealedTexts(kv)).map(({ where, id, text }) =>
    `${where} ${id} ${sealer.open(text, id)}`
  ).sort();
}

Deno.test("sealed: whatever a relay seals lies in a field of the table", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv });
  await furnish(world);
  const known = SEALED.flatMap(({ of, fields }) => fields.map((field) => `${of.name}.${field}`));
  const seen = (await sealedTexts(kv)).map(({ where }) => where);
  deq([...new Set(seen)].sort(), known.sort());
  eq(seen.length, 24 + 3 * 4 + 2 * 4 + 2 * 4 + 1 + 1 + 1 + 1 + 5 + 2 + 1);
});

Deno.test("rotateSecret: cut off at any commit, both secrets open everything, and running it again ends it", async () => {
  const kv = await Deno.openKv(":memory:");
  const before = await (async () => {
    await using world = await World.open({ kv: shared(kv) });
    await furnish(world);
    return await contents(kv, OLD);
  })();
  let cuts = 0;
  for (let done = false; !done;) {
    let left = cuts === 0 ? 0 : 1;
    const mortal = committing(shared(kv), (commit) => {
      if (left-- === 0) throw new Error("killed");
      return commit();
    });
    done = await rotate(mortal).then(() => true, () => false);
    cuts += done ? 0 : 1;
    deq(await contents(kv, NEW, OLD), before);
    const running = { kv: shared(kv), seed: 100 + cuts };
    // Who has both starts and works; who has one of them only does not, as long as it is not done.
    await using _ = await World.open({
      ...running,
      settings: { secret: NEW, olderSecrets: [OLD], signup: "closed" },
    });
    await rejects(World.open({ ...running, ...only(OLD) }), /RELAY_SECRET/);
    if (!done) await rejects(World.open({ ...running, ...only(NEW) }), /RELAY_SECRET_OLD/);
  }
  ok(cuts >= 3, `${cuts} cuts`);
  deq(await contents(kv, NEW), before);
  const old = makeSealer(OLD, entropy);
  for (const { text, id } of await sealedTexts(kv)) {
    await rejects(async () => old.open(text, id), { reason: "unknown_key" });
  }
  await using world = await World.open({ kv, seed: 99, ...only(NEW) });
  eq(world.logged.length, 0);
});

Deno.test("rotateSecret: an MCP client's tokens work as before", async () => {
  const kv = await Deno.openKv(":memory:");
  const client = await (async () => {
    await using world = await World.open({ kv: shared(kv), ...only(OLD) });
    return await connected(world, await world.signUp());
  })();
  await rotate(shared(kv));
  await using world = await World.open({ kv, seed: 99, ...only(NEW) });
  ok((await toolsOf(world, client.access_token)).includes("list_agents"));
  eq((await refresh(world, client.client_id, client.refresh_token)).status, 200);
});

Deno.test("rotateSecret: fits a shared server, and relays at work meanwhile lose nothing", async () => {
  const kv = await Deno.openKv(":memory:");
  const server = strictKv(shared(kv));
  const world = await World.open({
    kv: server,
    sole: false,
    settings: { secret: NEW, olderSecrets: [OLD] },
  });
  const owner = await furnish(world);
  await world.settle(); // the other takes no attempt from it
  const old = await World.open({
    kv: server,
    sole: false,
    seed: 2,
    clock: world.clock,
    settings: {
      secret: OLD,
      olderSecrets: [NEW],
    },
  });
  const revoke = world.key(owner, ["agents:read"]).then(({ id }) =>
    world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as: owner.token })
  );
  const [, made] = await Promise.all([
    rotate(server, false),
    old.key(owner, ["agents:read"]),
    revoke,
  ]);
  await rotate(server, false);
  const key = await world.app.store.get(apiKeys, { org: owner.org, space: "live" }, made.id);
  eq(makeSealer(NEW, entropy).open(key!.sealed, made.id), made.value);
  eq((await contents(kv, NEW)).length, 24 + 3 * 4 + 2 * 4 + 2 * 4 + 1 + 1 + 1 + 1 + 2 + 5 + 2 + 1);
  for (const each of [old, world]) await each[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("rotateSecret: a text that no secret opens is named, and the older secret stays needed", async () => {
  const kv = await Deno.openKv(":memory:");
  await (async () => {
    await using world = await World.open({ kv: shared(kv) });
    await furnish(world);
  })();
  const store = storeOf(shared(kv));
  const lost = makeSealer("a third secret, of which nobody knows", entropy);
  const [entry] = (await sealedTexts(kv)).filter(({ where }) => where === "webhooks.sealed_secret");
  for (const { key, value, kind, id } of await rawRows<Record<string, unknown>>(kv)) {
    if (kind !== "webhooks" || id !== entry!.id) continue;
    await kv.set(key, { ...value, sealed_secret: lost.seal("x", entry!.id) });
  }
  await rejects(
    rotateSecret(store, both(), () => {}),
    new RegExp(`1 records do not open: webhooks ${entry!.id}: .*RELAY_SECRET_OLD`),
  );
  await rejects(World.open({ kv: shared(kv), seed: 3, ...only(NEW) }), /RELAY_SECRET_OLD/);
  const all = makeSealer(NEW, entropy, [OLD, "a third secret, of which nobody knows"]);
  await rotateSecret(storeOf(shared(kv)), all, () => {});
  await using _ = await World.open({ kv, seed: 4, ...only(NEW) });
});

Deno.test("rotateSecret: fails while a relay still seals with an older secret", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv });
  const owner = await furnish(world);
  const tenant = { org: owner.org, space: "live" } as const;
  const hook = (await world.app.store.list(webhooks, tenant, { limit: 1 })).items[0]!;
  let made = 0;
  const report = async () => {
    const id = `whk_${++made}`;
    const late = makeSealer(OLD, entropy).seal("late", id);
    const sealed = { sealed_secret: late, sealed_headers: late, sealed_previous_secret: late };
    const record = { ...hook, id, ...sealed };
    await putRaw(kv, webhooks, tenant, record);
  };
  const waiting: Promise<void>[] = [];
  await rejects(
    rotateSecret(storeOf(shared(kv)), both(), () => waiting.push(report())),
    /a relay still seals with an older secret/,
  );
  await Promise.all(waiting);
});

Deno.test("relay: a store takes eight secrets, then a rotation is asked for", async () => {
  const kv = await Deno.openKv(":memory:");
  const secrets = Array.from({ length: 9 }, (_, n) => `secret number ${n}, long enough`);
  const start = (n: number) =>
    World.open({
      kv: shared(kv),
      seed: n + 1,
      settings: { secret: secrets[n]!, olderSecrets: secrets.slice(0, n) },
    });
  for (let n = 0; n < 8; n++) await (await start(n))[Symbol.asyncDispose]();
  await rejects(start(8), /sealed with 8 secrets: run `relay secret rotate` first/);
  kv.close();
});
