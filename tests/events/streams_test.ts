import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { users } from "../../kv/records/user.ts";
import { random } from "../support/random.ts";
import { type Received, StreamClient } from "../support/stream.ts";
import { World } from "../support/world.ts";
import { happen, placeIn, READ, take, typesOf } from "./stream_fixtures.ts";

const HOUR_MS = 60 * 60 * 1000;

Deno.test("streams: a stream begins with hello and carries the envelope of webhooks", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const client = await StreamClient.open(world, owner.token);
  const hello = await client.next();
  deq([hello!.event, hello!.data.recovered, hello!.data.from], ["hello", false, hello!.id]);
  await happen(world, owner, "api_key_used");
  await happen(world, owner, "agent_created", "agt_1");
  const [event] = await take(world, client, 1);
  const head = await world.app.log.head({ org: owner.org, space: "live" });
  deq([event!.event, event!.id], ["event", placeIn(world, owner, head)]);
  const { event_id, ...rest } = event!.data;
  ok(/^[0-9a-f-]{36}$/.test(event_id));
  deq(rest, {
    event_type: "agent_created",
    timestamp: "2030-01-01T00:00:00.000Z",
    organization_id: owner.org,
    agent_id: "agt_1",
    payload: WEBHOOK_EVENTS.agent_created.example,
  });
  await client.cut();
  eq(world.app.streams.size, 0);
});

Deno.test("streams: filters by type, agent and severity", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const open = (query: string) => StreamClient.open(world, owner.token, { query });
  const byType = await open("?types=agent_deleted,agent_created");
  const byAgent = await open("?agent_id=agt_2");
  const bySeverity = await open("?severity=warning");
  for (const client of [byType, byAgent, bySeverity]) await client.next();
  await happen(world, owner, "agent_created", "agt_1");
  await happen(world, owner, "command_executed", "agt_2");
  await happen(world, owner, "agent_deleted", "agt_2");
  deq(typesOf(await take(world, byType, 2)), ["agent_created", "agent_deleted"]);
  deq(typesOf(await take(world, byAgent, 2)), ["command_executed", "agent_deleted"]);
  deq(typesOf(await take(world, bySeverity, 1)), ["agent_deleted"]);
  for (const query of ["?types=nothing", "?severity=loud", "?last_event_id=x", "?surprise=1"]) {
    eq((await world.call("GET", `/api/events${query}`, { as: owner.token })).status, 400, query);
  }
  const accept = { accept: "application/json" };
  const refused = await world.call("GET", "/api/events", { as: owner.token, headers: accept });
  eq(refused.status, 406);
  for (const client of [byType, byAgent, bySeverity]) await client.cut();
});

Deno.test("streams: readers that are disconnected repeatedly miss nothing and see nothing twice", async () => {
  const seed = crypto.getRandomValues(new Uint16Array(1))[0]!;
  console.log(`streams seed ${seed}`);
  const dice = random(seed);
  await using world = await World.open();
  const owner = await world.signUp();
  const tenant = { org: owner.org, space: "live" } as const;
  await world.app.log.flush();
  const before = await world.app.log.head(tenant);
  const total = 2_000;
  let cuts = 0;
  const write = async () => {
    for (let made = 0; made < total;) {
      const batch = Math.min(total - made, 1 + dice.below(40));
      await Promise.all(
        Array.from(
          { length: batch },
          (_, n) => happen(world, owner, "agent_created", `agt_${made + n}`),
        ),
      );
      made += batch;
      await world.app.log.flush();
    }
  };
  const read = async () => {
    const seen: string[] = [];
    let last = placeIn(world, owner, before);
    while (seen.length < total) {
      const client = await StreamClient.open(world, owner.token, {
        headers: { "last-event-id": last },
      });
      eq((await client.next())!.data.recovered, true);
      for (let left = dice.below(150); left > 0 && seen.length < total; left--) {
        const { data, id } = (await client.next())!;
        seen.push(data.agent_id);
        last = id!;
      }
      await client.cut();
      cuts++;
    }
    return seen;
  };
  const [, ...readers] = await Promise.all([write(), ...Array.from({ length: 8 }, read)]);
  const log = await world.app.log.read(tenant, before, 1_000_000);
  const expected = log.filter(({ type }) => type === "agent_created")
    .map(({ json }) => JSON.parse(json).agent_id);
  eq(expected.length, total);
  for (const seen of readers) deq(seen, expected);
  ok(cuts >= 100);
});

Deno.test("streams: an id of another history, or beyond the log, is reported as not recovered", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  await world.settle();
  const head = await world.app.log.head({ org: owner.org, space: "live" });
  const elsewhere = [
    `e_other:${head}`,
    placeIn(world, owner, 999_999),
    placeIn(world, stranger, head),
    placeIn(world, owner, head, "test"),
  ];
  for (const id of elsewhere) {
    const client = await StreamClient.open(world, owner.token, { query: `?last_event_id=${id}` });
    const hello = (await client.next())!;
    eq(hello.data.recovered, false);
    eq(hello.id, placeIn(world, owner, head));
    await client.cut();
  }
});

Deno.test("streams: heartbeats carry the position, from which a quiet stream resumes", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const client = await StreamClient.open(world, owner.token, { query: "?types=agent_deleted" });
  await client.next();
  for (let n = 0; n < 5; n++) await happen(world, owner, "agent_created", "agt_1");
  await world.advance(15_000);
  const heartbeat = (await client.next())!;
  const head = await world.app.log.head({ org: owner.org, space: "live" });
  deq([heartbeat.event, heartbeat.id], ["heartbeat", placeIn(world, owner, head)]);
  await client.cut();
});

Deno.test("streams: rights filter live and earlier events, and a lost right takes effect at once", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["approvals:read", "audit:read"]);
  const start = placeIn(world, owner, 0);
  await happen(world, owner, "agent_created", "agt_1");
  await happen(world, owner, "approval_requested", "agt_1");
  const client = await StreamClient.open(world, key.value, { query: `?last_event_id=${start}` });
  const all: (Received | null)[] = [await client.next(), ...await take(world, client, 1)];
  deq(typesOf(all.slice(1)), ["approval_requested"]);
  const tenant = { org: owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const record = await tx.get(apiKeys, tenant, key.id);
    tx.put(apiKeys, tenant, { ...record!, scopes: ["agents:read"] });
  });
  await world.advance(1_000);
  await happen(world, owner, "approval_requested", "agt_1");
  await happen(world, owner, "agent_created", "agt_1");
  deq(typesOf(await take(world, client, 1)), ["agent_created"], "the rights of now");
  const none = await world.key(owner, ["catalog:read"]);
  eq((await world.call("GET", "/api/events", { as: none.value })).status, 403);
  await client.cut();
});

Deno.test("streams: no stream shows another organization's events", async () => {
  await using world = await World.open();
  const [one, other] = [await world.signUp(), await world.signUp()];
  const client = await StreamClient.open(world, one.token);
  await client.next();
  await happen(world, other, "agent_created", "agt_other");
  await happen(world, one, "agent_created", "agt_own");
  const [event] = await take(world, client, 1);
  eq(event!.data.agent_id, "agt_own");
  await client.cut();
});

Deno.test("streams: a revoked or expired credential, or a demoted creator, ends a stream within a second", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const second = await world.join(owner, ["owner"]);
  const opened = async (as: string) => {
    const client = await StreamClient.open(world, as);
    await client.next();
    return client;
  };
  const ends = async (client: StreamClient) => {
    const { event, data } = (await client.next())!;
    eq(await client.next(), null);
    return [event, data.name, data.code];
  };
  const key = await world.key(owner, READ);
  const revoked = await opened(key.value);
  await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as: owner.token });
  await world.advance(1_000);
  deq(await ends(revoked), ["end", "credential_ended", 4401]);
  const demoted = await opened((await world.key(second, READ)).value);
  const tenant = { org: owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const user = await tx.get(users, tenant, second.userId);
    tx.put(users, tenant, { ...user!, roles: [] });
  });
  await world.advance(1_000);
  deq(await ends(demoted), ["end", "rights_lost", 4403]);
  const aged = await opened(owner.token);
  await world.advance(HOUR_MS + 1_000);
  let last: Received | null = null;
  for (let event = await aged.next(); event !== null; event = await aged.next()) last = event;
  deq([last!.event, last!.data.name], ["end", "credential_ended"]);
  eq(world.app.streams.size, 0);
});

Deno.test("streams: a stopping relay ends its streams with random reconnect delays", async () => {
  const world = await World.open();
  const owner = await world.signUp();
  const clients = await Promise.all([1, 2, 3, 4].map(() => StreamClient.open(world, owner.token)));
  for (const client of clients) await client.next();
  await world[Symbol.asyncDispose]();
  const waits = new Set<number | null>();
  for (const client of clients) {
    const { event, data } = (await client.next())!;
    deq([event, data.name], ["end", "going_away"]);
    eq(await client.next(), null);
    waits.add(client.retryMs);
  }
  ok(waits.size > 1 && [...waits].every((ms) => ms !== null && ms >= 1_000 && ms <= 5_000));
});
