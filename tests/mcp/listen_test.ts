import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { users } from "../../kv/records/user.ts";
import type { Actor } from "../../core/identity/identity.ts";
import type { Exchange } from "../../mcp/exchange.ts";
import { listen as listenTo } from "../../mcp/listen.ts";
import { Listeners } from "../../mcp/listeners.ts";
import { Rechecks } from "../../mcp/rechecks.ts";
import { METHODS } from "../../mcp/methods.ts";
import { makeServer } from "../../mcp/server.ts";
import { routes } from "../../routes/index.ts";
import { connected } from "../access/mcp_clients/fixtures.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { type Json, messagesOf, Reader, readReply, requestOf, rpc } from "./client.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

async function listen(
  world: World,
  as: string,
  notifications: Json,
  headers: Record<string, string> = {},
): Promise<Reader> {
  const options = { as, style: "modern", id: "listen-1", headers } as const;
  const request = requestOf("subscriptions/listen", { notifications }, options);
  return new Reader(await world.send(request));
}

async function demote(world: World, { org, userId }: Account): Promise<void> {
  const tenant = { org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    const user = await tx.get(users, tenant, userId);
    tx.put(users, tenant, { ...user!, roles: ["viewer"] });
  });
}

const note = (world: World, as: string) =>
  world.call("POST", "/api/audit/event", { as, body: { event_type: "custom.event" } });

Deno.test("listen: acknowledges the subscriptions first, and tags each notification with its id", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const uris = ["relay://audit", "relay://nowhere", 7, `relay://agents/${"x".repeat(129)}`];
  const reader = await listen(world, token, {
    resourceSubscriptions: uris,
    toolsListChanged: true,
  });
  const [ack] = await reader.until(1);
  eq(ack.method, "notifications/subscriptions/acknowledged");
  deq(ack.params.notifications, {
    toolsListChanged: true,
    resourceSubscriptions: ["relay://audit"],
  });
  await note(world, token);
  await world.settle();
  const [, told] = await reader.until(2);
  deq([told.method, told.params.uri], ["notifications/resources/updated", "relay://audit"]);
  for (const { params } of reader.messages) eq(params._meta[SUBSCRIPTION], "listen-1");
  await reader.drop();
});

Deno.test("listen: no notification precedes the acknowledgement", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const actor = await world.app.authenticator.authenticate(token, "live");
  const server = makeServer(world.app, routes, METHODS);
  const told: string[] = [];
  const exchange = {
    server,
    relay: world.app,
    actor,
    id: 1,
    params: { notifications: { toolsListChanged: true } },
    identifyAgain: () => Promise.resolve(actor),
  };
  const listening = listenTo(exchange as unknown as Exchange, {
    notify: (method) => told.push(method) > 0,
    end() {},
  });
  for (let turn = 0; turn < 20; turn++) {
    server.listeners.listChanged("tools");
    await null;
  }
  (await listening)();
  eq(told[0], "notifications/subscriptions/acknowledged");
  ok(told.includes("notifications/tools/list_changed"));
});

Deno.test("listen: every event after the acknowledgement is notified, also on a shared store", async () => {
  await using world = await World.open({ sole: false });
  const { token } = await world.signUp();
  const actor = await world.app.authenticator.authenticate(token, "live");
  const server = makeServer(world.app, routes, METHODS);
  await world.settle();
  const told: string[] = [];
  const { log } = world.app;
  const { flush } = log;
  let happened = false;
  const happen = async () => {
    happened = true;
    await note(world, token);
    await log.flush();
  };
  // The store is slow, and the client is not.
  log.flush = async () => {
    log.flush = flush;
    if (told.length > 0) await happen();
  };
  const params = { notifications: { resourceSubscriptions: ["relay://events"] } };
  const exchange = {
    server,
    relay: world.app,
    actor,
    id: 1,
    params,
    identifyAgain: () => Promise.resolve(actor),
  };
  const stop = await listenTo(exchange as unknown as Exchange, {
    notify: (method) => told.push(method) > 0,
    end() {},
  });
  if (!happened) await happen();
  for (let n = 0; n < 4; n++) await world.advance(500);
  stop();
  deq(told, ["notifications/subscriptions/acknowledged", "notifications/resources/updated"]);
});

Deno.test("listen: a slow authentication of a caller is not started twice", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const actor = await world.app.authenticator.authenticate(token, "live");
  const listeners = new Listeners(world.app, new Rechecks(world.app));
  const looks: PromiseWithResolvers<Actor>[] = [];
  const stop = await listeners.add({
    actor,
    session: null,
    identifyAgain() {
      const look = Promise.withResolvers<Actor>();
      looks.push(look);
      return look.promise;
    },
    wantsResource: () => false,
    wantsList: () => false,
    taskChanged: null,
    notify: () => true,
    end() {},
  });
  await world.advance(10_000);
  eq(looks.length, 1);
  looks[0]!.resolve(actor);
  await world.advance(500);
  eq(looks.length, 2);
  stop();
});

Deno.test("listen: one organization may have half of the listeners", async () => {
  await using world = await World.open();
  const [one, other] = [await world.signUp(), await world.signUp()];
  const listeners = new Listeners(world.app, new Rechecks(world.app), 4);
  const add = async ({ token }: Account) => {
    const actor = await world.app.authenticator.authenticate(token, "live");
    return await listeners.add({
      actor,
      session: null,
      identifyAgain: () => Promise.resolve(actor),
      wantsResource: () => false,
      wantsList: () => false,
      taskChanged: null,
      notify: () => true,
      end() {},
    });
  };
  const stop = await add(one);
  await add(await world.join(one, ["viewer"]));
  await rejects(add(one), { code: "RATE_LIMIT_EXCEEDED", message: /of one organization/ });
  await add(other);
  await add(other);
  await rejects(add(other), { message: /of all callers/ });
  stop();
  await add(one);
  listeners.close();
});

Deno.test("listen: callers get no notifications of what they may not read or of others' data", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const { value } = await world.key(owner, ["agents:read"]);
  const uris = ["relay://audit", "relay://agents"];
  await world.settle();
  const mine = await listen(world, value, { resourceSubscriptions: uris });
  const theirs = await listen(world, stranger.token, { resourceSubscriptions: uris });
  deq((await mine.until(1))[0].params.notifications.resourceSubscriptions, ["relay://agents"]);
  await note(world, owner.token);
  await world.settle();
  world.mcp.close();
  for (const reader of [mine, theirs]) {
    const messages = await reader.until(Infinity);
    deq(messages.filter(({ method }) => method === "notifications/resources/updated"), []);
    const last = messages.at(-1);
    deq([last.id, last.result._meta[SUBSCRIPTION]], ["listen-1", "listen-1"]);
  }
});

Deno.test("listen: reading a resource does not notify its reader", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: as } = await world.key(owner, ["audit:read"]);
  await world.settle();
  const uri = "relay://audit";
  const reader = await listen(world, as, { resourceSubscriptions: [uri] });
  await rpc(world, "resources/read", { uri }, { as, style: "modern" });
  await world.advance(5_000);
  world.mcp.close();
  eq((await reader.until(Infinity)).length, 2, "its beginning and its end");
});

Deno.test("listen: a revoked key's stream ends within a second, and a changed role notifies and narrows it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "system:read"]);
  const colleague = await world.join(owner, ["operator"]);
  const revoked = await listen(world, key.value, { toolsListChanged: true });
  const demoted = await listen(world, colleague.token, { toolsListChanged: true });
  await revoked.until(1);
  await demoted.until(1);
  await world.advance(100);
  await world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as: owner.token });
  await demote(world, colleague);
  await world.advance(500); // and looking takes time
  await revoked.until(Infinity);
  ok(revoked.ended);
  const [, told] = await demoted.until(2);
  eq(told.method, "notifications/tools/list_changed");
  await demoted.drop();
});

Deno.test("listen: the streams of an MCP client end within a second after its person ended it, and with its token", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const path = "/api/account/mcp-clients";
  const open = async () => {
    const { access_token } = await connected(world, owner);
    const reader = await listen(world, access_token, { toolsListChanged: true });
    await reader.until(1);
    return reader;
  };
  const ended = await open();
  const { body: { clients: [client] } } = await world.call("GET", path, { as: owner.token });
  await world.call("DELETE", `${path}/${client.id}`, { as: owner.token });
  await world.advance(500);
  await ended.until(Infinity);
  ok(ended.ended);
  const expired = await open();
  await world.advance(15 * 60_000);
  await expired.until(Infinity);
  ok(expired.ended);
});

Deno.test("listen: a key's stream stays open, whichever space its request chose", async () => {
  await using world = await World.open();
  const { value: as } = await world.key(await world.signUp(), ["agents:read"]);
  const headers = { "x-relay-space": "both" };
  const reader = await listen(world, as, { toolsListChanged: true }, headers);
  await reader.until(1);
  await world.advance(5_000);
  world.mcp.close();
  eq((await reader.until(Infinity)).length, 2, "its beginning and its end");
});

Deno.test("listen: a caller may have ten streams, and closing one admits another", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const readers: Reader[] = [];
  for (let n = 0; n < 10; n++) readers.push(await listen(world, token, { toolsListChanged: true }));
  const timers = world.clock.pending;
  const refused = await rpc(world, "subscriptions/listen", { notifications: {} }, {
    as: token,
    style: "modern",
  });
  eq(world.clock.pending, timers, "the refused one keeps nothing");
  deq([refused.status, refused.body.error.data.code], [429, "RATE_LIMIT_EXCEEDED"]);
  const { of, raise } = refused.body.error.data.details;
  deq([of.type, raise], ["user", null]);
  await readers[0]!.drop();
  readers[0] = await listen(world, token, { toolsListChanged: true });
  eq(readers[0].response.status, 200);
  for (const reader of readers) await reader.drop();
});

Deno.test("listen: malformed subscriptions and anonymous callers are refused", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const many = Array.from({ length: 101 }, (_, n) => `relay://agents/${n}`);
  await world.settle();
  const timers = world.clock.pending;
  for (const uris of [many, "relay://agents"]) {
    const { body } = await rpc(world, "subscriptions/listen", {
      notifications: { resourceSubscriptions: uris },
    }, { as: token, style: "modern" });
    eq(body.error.code, -32602);
  }
  eq(world.clock.pending, timers, "the refused ones keep nothing");
  const nobody = requestOf("subscriptions/listen", { notifications: {} }, { style: "modern" });
  eq((await readReply(await world.send(nobody))).status, 401);
});

Deno.test("listen: a stopping relay sends the result and spreads the reconnections", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const responses: Response[] = [];
  for (let n = 0; n < 4; n++) {
    const params = { notifications: { toolsListChanged: true } };
    const request = requestOf("subscriptions/listen", params, { as: token, style: "modern" });
    responses.push(await world.send(request));
  }
  world.mcp.close();
  const waits = new Set<number>();
  for (const response of responses) {
    const text = await response.text();
    const [, retry] = /^retry: (\d+)$/m.exec(text)!;
    waits.add(Number(retry));
    const last = messagesOf(text).at(-1);
    deq([last.id, last.result.resultType], [1, "complete"]);
  }
  ok(waits.size > 1 && [...waits].every((ms) => ms >= 1_000 && ms <= 5_000));
});

Deno.test("listen: events of other instances on a shared store are notified once", async () => {
  const kv = await Deno.openKv(":memory:");
  const one = await World.open({ kv: shared(kv), sole: false, seed: 1 });
  const two = await World.open({ kv: shared(kv), sole: false, seed: 2, clock: one.clock });
  const owner = await one.signUp();
  await one.settle();
  const here = await listen(two, owner.token, { resourceSubscriptions: ["relay://events"] });
  await here.until(1);
  for (const world of [one, two]) {
    await note(world, owner.token);
    await world.app.log.flush();
    for (let n = 0; n < 4; n++) await one.advance(500);
  }
  const heard = await here.until(3);
  deq(heard.slice(1).map(({ params }) => params.uri), ["relay://events", "relay://events"]);
  await here.drop();
  for (const world of [two, one]) await world[Symbol.asyncDispose]();
  kv.close();
});
