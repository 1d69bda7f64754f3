import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { eventJson } from "../../core/events/events.ts";
import { historyOf, idOf } from "../../core/events/streams/message.ts";
import { EVENT_RIGHTS } from "../../core/events/streams/rights.ts";
import { isWebhookEvent, WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { makeKey, signUpOwner } from "../support/processes.ts";
import { type Random, random } from "../support/random.ts";
import { type LocalServer, openServer } from "../support/server.ts";
import { type Carrier, WireReader } from "../support/wire.ts";

const EVENTS = Number(Deno.env.get("RELAY_CUT_EVENTS") ?? 3_000);
const CUTS = Number(Deno.env.get("RELAY_CUTS") ?? 150);
const READERS: readonly Carrier[] = ["sse", "ws", "batches", "batches"];
const PAGE = 500;

/** One reader that is cut off again and again; it counts what it saw. */
interface Reader {
  readonly carrier: Carrier;
  readonly seen: string[];
  last: string;
  cuts: number;
  /** Resumptions from a place that never was, which must be told. */
  strays: number;
}

/** Puts events into the log, many and few at a time. */
async function write(server: LocalServer, tenant: Tenant, dice: Random): Promise<void> {
  const { app } = server.running;
  for (let made = 0; made < EVENTS;) {
    const batch = Math.min(EVENTS - made, 1 + dice.below(80));
    await Promise.all(Array.from({ length: batch }, (_, n) => {
      const json = eventJson({ ...app, actor: { id: "usr_test" } }, tenant, {
        type: "agent_created",
        resource: { type: "agent", id: `agt_${made + n}` },
        agentId: `agt_${made + n}`,
        details: WEBHOOK_EVENTS.agent_created.example,
      });
      return app.store.append(tenant, "agent_created", json);
    }));
    made += batch;
    if (dice.chance(0.2)) await app.log.flush();
  }
  await app.log.flush();
}

/** Reads until it has seen every event, and has been cut off as often as it must. */
async function readOn(port: number, key: string, reader: Reader, dice: Random): Promise<void> {
  const { carrier, seen } = reader;
  const meanBytes = EVENTS * 420 * READERS.length / CUTS;
  const done = () => seen.length === EVENTS;
  while (reader.cuts * READERS.length < CUTS || !done()) {
    const stray = dice.chance(0.05);
    const from = stray ? `e_another:${dice.below(1_000)}` : reader.last;
    const wire = await WireReader.open(port, carrier, key, from);
    const cutAt = done() ? dice.below(600) : dice.unit() ** 2 * 3 * meanBytes;
    let hello = false;
    do {
      const messages = await wire.read(cutAt - wire.bytesRead);
      ok(messages !== null, "the relay has ended the stream");
      for (const { kind, id, data } of messages) {
        if (!hello) {
          deq([kind, data.recovered], ["hello", !stray], from);
          if (!stray) eq(data.from, reader.last);
          hello = true;
        }
        if (stray) continue; // it was told that it missed something
        if (kind === "event") seen.push(`${id} ${data.event_id}`);
        if (id !== null) reader.last = id;
      }
      // Nothing more would come to cut off.
    } while (wire.bytesRead < cutAt && !(hello && (stray || done())));
    wire.cut();
    reader.cuts++;
    if (stray && hello) reader.strays++;
  }
}

Deno.test("streams: a reader disconnected at any byte, on each transport, misses and repeats nothing", async () => {
  const seed = Number(Deno.env.get("RELAY_CUTS_SEED") ?? Math.floor(Math.random() * 1e6));
  console.log(`cuts: RELAY_CUTS_SEED=${seed}`);
  const dice = random(seed);
  await using server = await openServer();
  const token = await signUpOwner(clientOf(server.url));
  const owner = clientOf(server.url, token);
  const key = await makeKey(owner, EVENT_RIGHTS);
  const account = await owner<{ organization: { id: string } }>("GET", "/api/account/info");
  const tenant: Tenant = { org: account.body.organization.id, space: "live" };
  const { app } = server.running;
  const history = historyOf(app.epoch, tenant);
  await app.log.flush();
  const start = await app.log.head(tenant);
  const readers: Reader[] = READERS.map((carrier) => ({
    carrier,
    seen: [],
    last: idOf(history, start),
    cuts: 0,
    strays: 0,
  }));
  await Promise.all([
    write(server, tenant, random(dice.below(1e9))),
    ...readers.map((reader) => readOn(server.port, key, reader, random(dice.below(1e9)))),
  ]);
  const written: string[] = [];
  for (let at = start;;) {
    const page = await app.log.read(tenant, at, PAGE);
    if (page.length === 0) break;
    at = page.at(-1)!.seq;
    for (const { seq, type, json } of page) {
      if (isWebhookEvent(type)) written.push(`${idOf(history, seq)} ${JSON.parse(json).event_id}`);
    }
  }
  eq(written.length, EVENTS);
  for (const { carrier, seen } of readers) deq(seen, written, `${carrier} ${seed}`);
  const total = (count: (reader: Reader) => number) =>
    readers.reduce((sum, reader) => sum + count(reader), 0);
  console.log(`${total(({ cuts }) => cuts)} cuts, ${total(({ strays }) => strays)} of them told`);
  ok(total(({ cuts }) => cuts) >= CUTS);
});
