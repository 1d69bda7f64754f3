import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CLOSE_CODES } from "../../core/protocol/protocol.ts";
import { EVENT_RIGHTS } from "../../core/events/streams/rights.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { commands } from "../../kv/records/command.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { StreamClient } from "../support/stream.ts";
import type { World } from "../support/world.ts";
import { pair } from "./pair.ts";

/** Holds what a world reads of API keys back, after it was read, until it is released. */
function slowKeys({ app: { store } }: World) {
  const raw = store.raw.bind(store);
  const read = Promise.withResolvers<void>(), released = Promise.withResolvers<void>();
  store.raw = async (key) => {
    const entry = await raw(key);
    if (key[2] !== apiKeys.name) return entry;
    read.resolve();
    await released.promise;
    return entry;
  };
  return {
    read: read.promise,
    release() {
      store.raw = raw;
      released.resolve();
    },
  };
}

/** Resolves when a world has heard of changes of credentials. */
function untilAnnounced({ app: { streams } }: World): Promise<void> {
  const heard = Promise.withResolvers<void>();
  const recheck = streams.recheck.bind(streams);
  streams.recheck = () => {
    recheck();
    heard.resolve();
  };
  return heard.promise;
}

const revoke = (world: World, token: string, id: string) =>
  world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as: token });

Deno.test("instances: a key that is revoked elsewhere while it is checked loses its links within a second", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent, keyId } = cluster;
  const keys = slowKeys(one), announced = untilAnnounced(one);
  one.clock.advance(500);
  await keys.read;
  await revoke(two, owner.token, keyId);
  await announced;
  keys.release();
  await one.settle();
  one.clock.advance(500);
  await one.settle();
  eq(agent.closed?.code, CLOSE_CODES.credential_refused.code);
});

Deno.test("instances: a key that is revoked elsewhere while it is checked loses its streams within a second", async () => {
  await using cluster = await pair();
  const { one, two, owner } = cluster;
  const { value, id } = await one.key(owner, [...EVENT_RIGHTS]);
  const client = await StreamClient.open(one, value);
  await client.next();
  await one.settle();
  const keys = slowKeys(one), announced = untilAnnounced(one);
  one.clock.advance(500);
  await keys.read;
  await revoke(two, owner.token, id);
  await announced;
  keys.release();
  await one.settle();
  one.clock.advance(500);
  await one.settle();
  eq(one.app.streams.size, 0);
  await client.cut();
});

Deno.test("instances: a stream outlives one check of its credential that fails", async () => {
  await using cluster = await pair();
  const { one, owner } = cluster;
  const { value } = await one.key(owner, [...EVENT_RIGHTS]);
  const client = await StreamClient.open(one, value);
  await client.next();
  await one.advance(29_000);
  const { store } = one.app;
  const get = store.get.bind(store);
  let failed = 0;
  store.get = () => {
    failed++;
    return Promise.reject(new StoreUnavailableError());
  };
  for (let n = 0; n < 4; n++) {
    one.clock.advance(500);
    await one.app.background.idle();
  }
  store.get = get;
  eq(failed > 0, true);
  eq(one.app.streams.size, 1);
  await client.cut();
});

Deno.test("instances: pulses that come while logs are read cause one more reading", async () => {
  await using cluster = await pair();
  const { one, owner } = cluster;
  const client = await StreamClient.open(one, owner.token);
  await client.next();
  await one.settle();
  // A pulse of what was written before may still be on its way.
  await one.app.watch.stop();
  const { log } = one.app;
  const head = log.head.bind(log);
  const released = Promise.withResolvers<void>();
  let reads = 0;
  log.head = async (tenant) => {
    reads++;
    await released.promise;
    return await head(tenant);
  };
  for (let n = 0; n < 80; n++) log.pulsed(n % 8);
  released.resolve();
  await one.app.background.idle();
  eq(reads <= 2, true, `${reads} readings`);
  log.head = head;
  await client.cut();
});

const once = (world: World, token: string, agentId: string) =>
  world.call("GET", `/api/exec/${agentId}?command=uptime`, {
    as: token,
    headers: { "idempotency-key": "once" },
  });

Deno.test("instances: callers who follow a command of another instance at the same time all get its end", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  agent.script = () => "silent";
  const first = once(one, owner.token, agent.id);
  const order = await agent.until("run");
  let answered = 0;
  const others = [1, 2, 3].map(() =>
    once(two, owner.token, agent.id).then(({ body }) => {
      answered++;
      return body.stdout;
    })
  );
  await two.settle();
  agent.finish({ command_id: order.commands[0]!.command_id, stdout: "once\n" });
  await first;
  for (let n = 0; n < 20 && answered < 3; n++) await two.settle();
  eq(answered, 3);
  deq(await Promise.all(others), Array(3).fill("once\n"));
});

Deno.test("instances: a command that ends while another instance asks for news of it is not waited for", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  agent.script = () => "silent";
  const first = once(one, owner.token, agent.id);
  const id = (await agent.until("run")).commands[0]!.command_id;
  const { store, elsewhere } = two.app;
  const transact = store.transact.bind(store);
  const asked = Promise.withResolvers<void>(), told = Promise.withResolvers<void>();
  store.transact = async (work) => {
    const result = await transact(work);
    const live = { org: owner.org, space: "live" } as const;
    if ((await store.get(commands, live, id))?.reply_to === undefined) return result;
    store.transact = transact;
    asked.resolve();
    await told.promise;
    return result;
  };
  const ended = elsewhere.ended.bind(elsewhere);
  elsewhere.ended = async (tenant, of) => {
    await ended(tenant, of);
    told.resolve();
  };
  let answer: unknown = null;
  const second = once(two, owner.token, agent.id).then(({ body }) => answer = body.status);
  await asked.promise;
  agent.finish({ command_id: id, stdout: "once\n" });
  await first;
  await told.promise;
  for (let n = 0; n < 20 && answer === null; n++) await two.settle();
  eq(answer, "succeeded");
  await second;
});

Deno.test("instances: a command that is taken while another instance cancels it is cancelled", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  agent.script = () => "silent";
  const taking = one.app.commands, take = taking.take.bind(taking);
  const released = Promise.withResolvers<void>();
  taking.take = async (...args) => {
    await released.promise;
    return await take(...args);
  };
  const path = `/api/v1/agents/${agent.id}/commands`;
  const begun = await two.call("POST", path, { as: owner.token, body: { command: "sleep 60" } });
  const { store } = two.app;
  const transact = store.transact.bind(store);
  store.transact = async (work) => {
    store.transact = transact;
    released.resolve();
    await agent.until("run");
    return await transact(work);
  };
  const id = begun.body.command_id;
  const cancelled = two.call("POST", `${path}/${id}/cancel`, { as: owner.token });
  const answered = cancelled.then(({ status }) => status);
  eq(await Promise.race([answered, agent.until("cancel").then(() => "asked")]), "asked");
  agent.finish({ command_id: id, reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  eq((await cancelled).body.status, "cancelled");
});

Deno.test("instances: a caller without news gets an answer also when the store fails then", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  await one.app.inbox.stop();
  let answer = 0;
  const asked = two.call("GET", `/api/exec/${agent.id}?command=uptime&timeout=1`, {
    as: owner.token,
  }).then(({ status }) => answer = status);
  const { store } = two.app;
  while ((await store.queued(commands, "queued", { limit: 1 })).items.length === 0);
  await two.settle();
  const { get, transact } = store;
  store.get = () => Promise.reject(new StoreUnavailableError());
  store.transact = () => Promise.reject(new StoreUnavailableError());
  two.clock.advance(100_000);
  for (let n = 0; n < 1_000 && answer === 0; n++) {
    await new Promise<void>((next) => setImmediate(next));
  }
  Object.assign(store, { get, transact });
  eq(answer, 503);
  await asked;
});
