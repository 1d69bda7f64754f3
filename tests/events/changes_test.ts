import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { eventJson, OWN_EVENTS } from "../../core/events/emit.ts";
import { PENDING_MAX } from "../../core/events/streams/pending_changes.ts";
import type { Message } from "../../core/events/streams/message.ts";
import { BUFFER_BYTES_MAX, type Sink } from "../../core/events/streams/stream.ts";
import type { ResourceType } from "../../core/events/types/resources.ts";
import { Streams } from "../../core/events/streams/streams.ts";
import type { EventLog } from "../../kv/log/log.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { StreamClient } from "../support/stream.ts";
import { type Account, World } from "../support/world.ts";
import { placeIn } from "./stream_fixtures.ts";

const ANY = "changed null null";
const query = "?types=changed";

/** A client whose unread bytes the test sets. */
class Reader implements Sink {
  bufferedBytes = 0;
  ended = "";
  readonly changes: string[] = [];

  send(messages: readonly Message[]): void {
    for (const { kind, json } of messages) {
      if (kind === "changed") this.changes.push(JSON.parse(json).resource_id);
    }
  }

  drained(): Promise<void> {
    return Promise.resolve();
  }

  end(name: string): void {
    this.ended = name;
  }
}

interface Event {
  readonly type?: string;
  readonly space?: "live" | "test";
  readonly actor?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Appends an event about a resource to an organization's log. */
async function change(
  { app }: World,
  { org, userId }: Pick<Account, "org" | "userId">,
  resource: { readonly type: ResourceType; readonly id: string },
  { type = "agent_updated", space = "live", actor = userId, details = {} }: Event = {},
): Promise<void> {
  const tenant = { org, space };
  const json = eventJson({ ...app, actor: { id: actor } }, tenant, {
    type,
    resource,
    agentId: "agt_1",
    details: { ...OWN_EVENTS[type]?.example, ...details },
  });
  await app.store.append(tenant, type, json);
}

/** Ends the streams and returns the other messages of one, without heartbeats, in words. */
async function messagesOf(world: World, client: StreamClient): Promise<string[]> {
  world.app.streams.stop();
  const seen: string[] = [];
  for (let next = await client.next(); next !== null; next = await client.next()) {
    const { event, id, data } = next;
    if (event === "changed") {
      eq(id, null, "a change moves no position");
      seen.push(`changed ${data.resource_type} ${data.resource_id}`);
    } else if (event !== "heartbeat" && event !== "end") seen.push(data.event_type ?? event);
  }
  return seen;
}

Deno.test("changes: streams that did not ask for them see none", async () => {
  await using world = await World.open({ sole: true });
  const owner = await world.signUp();
  const plain = await StreamClient.open(world, owner.token);
  const other = await StreamClient.open(world, owner.token, { query: "?types=agent_created" });
  await change(world, owner, { type: "agent", id: "agt_1" }, { type: "agent_created" });
  await world.key(owner, ["agents:read"]);
  await world.advance(2_000);
  deq(await messagesOf(world, plain), ["hello", "agent_created"]);
  deq(await messagesOf(world, other), ["hello", "agent_created"]);
});

Deno.test("changes: the log hurries with events of the audit log only while a stream announces them", async () => {
  await using world = await World.open({ sole: true });
  const owner = await world.signUp();
  const actor = await world.app.authenticator.authenticate(owner.token, "live");
  const { log } = world.app;
  const watched: ((type: string, tenant: Tenant) => boolean)[] = [];
  const seen = {
    watch: (wants: (typeof watched)[number]) => watched.push(wants),
    onSequenced: () => {},
    onPulse: () => {},
    flush: () => log.flush(),
    head: (tenant: Tenant) => log.head(tenant),
    read: () => Promise.resolve([]),
  };
  const streams = new Streams({ ...world.app, log: seen as unknown as EventLog });
  streams.start();
  const hurries = (type: string) => watched.some((wants) => wants(type, actor.tenant));
  const ask = (types?: string) =>
    streams.open(
      actor,
      { types: types === undefined ? types : new Set([types]) },
      null,
      new Reader(),
    );
  await ask();
  deq([hurries("agent_created"), hurries("api_key_created")], [true, false]);
  const asking = [await ask("changed"), await ask("changed")];
  deq([hurries("api_key_created"), hurries("api_key_used")], [true, false]);
  for (const stream of asking) streams.leave(stream);
  eq(hurries("api_key_created"), false);
  streams.stop();
});

Deno.test("changes: each resource is announced once in 100 ms, also for events of the audit log only", async () => {
  await using world = await World.open({ sole: true });
  const owner = await world.signUp();
  const client = await StreamClient.open(world, owner.token, { query });
  const body = { metadata: { note: "first" } };
  const { id } = await world.key(owner, ["agents:read"]);
  const rename = () => world.call("PATCH", `/api/v1/api-keys/${id}`, { as: owner.token, body });
  eq((await rename()).status, 200);
  await world.advance(2 + 99);
  const before = [await client.next(), await client.next()];
  deq(before.map((message) => message!.event), ["hello", "changed"]);
  eq(world.app.streams.size, 1);
  await world.advance(1);
  body.metadata.note = "second";
  eq((await rename()).status, 200);
  await world.advance(2 + 100);
  const log = `changed audit_log ${owner.org}/live`;
  deq(await messagesOf(world, client), [
    `changed api_key ${id}`,
    log,
    `changed api_key ${id}`,
    log,
  ]);
});

Deno.test("changes: an event also announces the resources that its details name", async () => {
  await using world = await World.open({ sole: true });
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:read", "approvals:read"]);
  const client = await StreamClient.open(world, value, { query });
  const [approval, second] = [{ type: "approval", id: "prc_1" }, {
    type: "approval",
    id: "prc_2",
  }] as const;
  const type = "approval_given";
  await change(world, owner, approval, { type, details: { pid: "prc_1", command_id: "cmd_1" } });
  await change(world, owner, second, {
    type,
    details: { pid: "prc_2", command_id: "flt_1", agents: 2 },
  });
  const end = { type: "command_failed", details: { command_id: "cmd_2", parent_id: "flt_2" } };
  await change(world, owner, { type: "command", id: "cmd_2" }, end);
  // Callers choose the details of their own types.
  const outside = { type: "deployed", details: { command_id: "cmd_3" } };
  await change(world, owner, { type: "external", id: "key_1" }, outside);
  await world.advance(1_000);
  deq(await messagesOf(world, client), [
    "hello",
    ANY,
    "changed approval prc_1",
    "changed command cmd_1",
    "changed approval prc_2",
    "changed fleet_command flt_1",
    "changed command cmd_2",
    "changed fleet_command flt_2",
  ]);
});

Deno.test("changes: reading and the use of a key change nothing, so a reader causes no change by reading", async () => {
  await using world = await World.open({ sole: true });
  const owner = await world.signUp();
  const reader = await world.key(owner, ["agents:read", "audit:read", "system:read"]);
  await world.advance(1_000);
  const client = await StreamClient.open(world, reader.value, { query });
  for (const path of ["/api/audit", "/api/v1/api-keys", "/api/audit/checkpoint"]) {
    eq((await world.call("GET", path, { as: reader.value })).status, 200);
  }
  await world.advance(1_000);
  deq(await messagesOf(world, client), ["hello", ANY]);
});

Deno.test("changes: a stream announces only what its caller may read now, in their organization and space", async () => {
  await using world = await World.open({ sole: true });
  const [owner, stranger] = [await world.signUp(), await world.signUp()];
  const { value, id } = await world.key(owner, ["agents:read", "policy:read"]);
  const other = await world.key(owner, ["agents:read"]);
  await world.advance(1_000);
  const client = await StreamClient.open(world, value, { query });
  const agent = { type: "agent", id: "agt_other" } as const;
  await change(world, stranger, agent);
  await change(world, owner, agent, { space: "test" });
  await change(world, owner, { type: "webhook", id: "whk_1" });
  await change(world, owner, { type: "session", id: "ses_1" });
  await change(world, owner, { type: "api_key", id: other.id });
  await change(world, owner, { type: "api_key", id }, { actor: id });
  await change(world, owner, { type: "agent", id: "agt_1" });
  await change(world, owner, { type: "policy", id: "pol_1" });
  await world.app.log.flush();
  await world.app.store.transact(async (tx) => {
    const tenant = { org: owner.org, space: "live" } as const;
    const record = await tx.get(apiKeys, tenant, id);
    tx.put(apiKeys, tenant, { ...record!, scopes: ["agents:read"] });
  });
  world.app.streams.recheck();
  await world.advance(1_000);
  await change(world, owner, { type: "policy", id: "pol_2" });
  await change(world, owner, { type: "agent", id: "agt_2" });
  await world.advance(1_000);
  deq(await messagesOf(world, client), [
    "hello",
    ANY,
    `changed api_key ${id}`,
    "changed agent agt_1",
    "changed agent agt_2",
  ]);
});

Deno.test("changes: a stream that resumes says once that anything may have changed, and repeats nothing", async () => {
  await using world = await World.open({ sole: true });
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:read"]);
  const start = placeIn(world, owner, 0);
  for (let n = 0; n < 300; n++) await change(world, owner, { type: "agent", id: `agt_${n}` });
  const types = "?types=changed,agent_created";
  const client = await StreamClient.open(world, value, {
    query: types,
    headers: { "last-event-id": start },
  });
  await change(world, owner, { type: "agent", id: "agt_new" }, { type: "agent_created" });
  await world.advance(1_000);
  deq(await messagesOf(world, client), ["hello", ANY, "agent_created", "changed agent agt_new"]);
});

async function openReader(world: World) {
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:read"]);
  await world.settle();
  const actor = await world.app.authenticator.authenticate(value, "live");
  const reader = new Reader();
  await world.app.streams.open(actor, { types: new Set(["changed"]) }, null, reader);
  deq(reader.changes.splice(0), [null]);
  return { owner, reader };
}

Deno.test("changes: too many resources at once become one message, and what may not be read does not count", async () => {
  await using world = await World.open({ sole: true });
  const { owner, reader } = await openReader(world);
  const ids = Array.from({ length: PENDING_MAX }, (_, n) => `agt_${n}`);
  for (const id of ids) {
    await change(world, owner, { type: "agent", id });
    await change(world, owner, { type: "webhook", id });
  }
  await world.app.log.flush();
  await world.advance(100);
  deq(reader.changes.splice(0), ids);
  for (const id of [...ids, "agt_more", "agt_last"]) {
    await change(world, owner, { type: "agent", id });
  }
  await world.app.log.flush();
  await world.advance(100);
  deq(reader.changes.splice(0), [null]);
  await change(world, owner, { type: "agent", id: "agt_0" });
  await world.advance(1_000);
  deq(reader.changes, ["agt_0"]);
});

Deno.test("changes: a slow reader gets them together once it reads, and is ended when it reads nothing", async () => {
  await using world = await World.open({ sole: true });
  const { owner, reader } = await openReader(world);
  reader.bufferedBytes = BUFFER_BYTES_MAX / 2;
  for (const id of ["agt_1", "agt_2", "agt_1"]) {
    await change(world, owner, { type: "agent", id });
    await world.advance(1_000);
  }
  deq(reader.changes, []);
  reader.bufferedBytes = 0;
  await world.advance(100);
  deq(reader.changes.splice(0), ["agt_1", "agt_2"]);
  reader.bufferedBytes = BUFFER_BYTES_MAX / 2;
  await change(world, owner, { type: "agent", id: "agt_3" });
  await world.advance(31_000);
  deq([reader.changes, reader.ended, world.app.streams.size], [[], "too_slow", 1]);
});
