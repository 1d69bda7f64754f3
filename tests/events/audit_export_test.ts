import { ok, rejects, strictEqual as eq } from "node:assert/strict";
import { exportAudit } from "../../core/events/trail/export.ts";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { readKey } from "../../core/protocol/checkpoints/note.ts";
import { dropExpiredRows } from "../../core/events/trail/retention.ts";
import type { Reading } from "../../core/work/work.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { type Account, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const NDJSON = "application/x-ndjson";
const live = ({ org }: Account) => ({ org, space: "live" } as const);

async function fill(world: World, { token }: Account, n: number): Promise<void> {
  for (let at = 0; at < n; at++) {
    const body = { event_type: at % 2 ? "note" : "deploy", details: { text: "x".repeat(6_000) } };
    await world.call("POST", "/api/audit/event", { as: token, body });
  }
}

async function verify(world: World, { token }: Account, chunks: AsyncIterable<Uint8Array>) {
  const { body } = await world.call("GET", "/api/audit/checkpoint", { as: token });
  return await verifyExport(chunks, { key: readKey(body.public_key)! });
}

/** An export and the statement of its proof. */
async function take(world: World, owner: Account, query: string) {
  const { text } = await world.call("GET", `/api/audit/export?${query}`, {
    as: owner.token,
    headers: { accept: NDJSON },
  });
  return { text, ...await verify(world, owner, bytesOf([text])) };
}

async function* bytesOf(texts: Iterable<string> | AsyncIterable<string>) {
  for await (const text of texts) yield new TextEncoder().encode(text);
}

Deno.test("audit.export: an export is complete while retention removes rows", async () => {
  for (const filter of [{}, { event_type: ["note"] }]) {
    await using world = await World.open({
      config: { ...NO_LIMITS, retention_days: { audit: 30 } },
    });
    const owner = await world.signUp();
    await fill(world, owner, 300);
    await world.settle();
    world.clock.nowMs += 31 * DAY_MS;
    const body = { email: owner.email, password: "password 1" };
    const { token } = (await world.call("POST", "/api/v1/login", { body })).body;
    const work = {
      ...world.app,
      db: world.app.store,
      actor: { id: owner.userId, tenant: live(owner) },
      request: { id: "req" },
    } as unknown as Reading;
    const { body: stream } = await exportAudit(work, world.app.audit, filter, NDJSON);
    const pieces = stream[Symbol.asyncIterator]();
    const texts: string[] = [];
    // Its first rows were sent before the others are removed.
    texts.push((await pieces.next()).value!);
    let dropped = 0;
    for (let more = 1; more > 0; dropped += more) more = await dropExpiredRows(world.app);
    ok(dropped > 250, `${dropped}`);
    for (let piece = await pieces.next(); !piece.done; piece = await pieces.next()) {
      texts.push(piece.value);
    }
    const { finding, statement } = await verify(world, { ...owner, token }, bytesOf(texts));
    eq(finding, null);
    ok(statement!.expired > 250);
  }
});

Deno.test("audit.export: an altered row that a filter no longer matches is detected", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 40);
  await world.settle();
  const within = { org: owner.org, space: "live", kind: "log" };
  const cases = [
    ["event_type=note", '"event_type":"note"', '"event_type":"none"'],
    ["end_time=2100-01-01T00:00:00Z", '"timestamp":"2', '"timestamp":"3'],
  ] as const;
  for (const [query, was, becomes] of cases) {
    eq((await take(world, owner, query)).finding, null);
    let seq = 0;
    for (const { key, value } of await rawRows<Uint8Array>(world.kv, within)) {
      const rows = new TextDecoder().decode(value).split("\n");
      const at = rows.findIndex((row) => row.startsWith("note\t"));
      if (at < 0) continue;
      seq = key.at(-1) as number + at;
      const changed = rows.with(at, rows[at]!.replace(was, becomes));
      await world.kv.set(key, new TextEncoder().encode(changed.join("\n")));
      const { finding } = await take(world, owner, query);
      await world.kv.set(key, value);
      eq(finding?.kind, "missing");
      ok(finding.first <= seq && finding.last! >= seq);
      break;
    }
    ok(seq > 0);
  }
});

Deno.test("audit: time filters find the rows before and after a clock was set back", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const from = new Date(world.clock.now()).toISOString();
  await fill(world, owner, 1);
  await world.settle();
  world.clock.nowMs += 20 * MINUTE_MS;
  await fill(world, owner, 1);
  await world.settle();
  world.clock.nowMs -= 20 * MINUTE_MS;
  await fill(world, owner, 4);
  const until = new Date(world.clock.now()).toISOString();
  const query = `start_time=${from}&end_time=${until}&event_type=deploy`;
  const { finding, text } = await take(world, owner, query);
  eq(finding, null);
  eq(text.match(/"event_type":"deploy"/g)?.length, 3);
  const asked = await world.call("GET", `/api/audit?${query}`, { as: owner.token });
  eq(asked.body.events.length, 3);
  const ahead = new Date(world.clock.now() + 10 * MINUTE_MS).toISOString();
  const later = await world.call("GET", `/api/audit?start_time=${ahead}`, { as: owner.token });
  eq(
    later.body.events.filter((row: { event_type: string }) => row.event_type === "deploy").length,
    1,
  );
});

Deno.test("audit.export: an export from a start time reads no earlier rows and still verifies", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await fill(world, owner, 30);
  world.clock.advance(DAY_MS / 48);
  await fill(world, owner, 1);
  await world.settle();
  const { log } = world.app;
  const [readRows, readerOf] = [log.read.bind(log), log.reader.bind(log)];
  let least = Infinity, probes = 0;
  log.read = (...args) => {
    probes++;
    return readRows(...args);
  };
  log.reader = (tenant) => {
    const reader = readerOf(tenant), read = reader.read.bind(reader);
    reader.read = (after, limit) => {
      least = Math.min(least, after);
      return read(after, limit);
    };
    return reader;
  };
  const since = new Date(world.clock.now()).toISOString();
  const { text } = await world.call("GET", `/api/audit/export?start_time=${since}`, {
    as: owner.token,
    headers: { accept: NDJSON },
  });
  Object.assign(log, { read: readRows, reader: readerOf });
  const { finding, rows } = await verify(world, owner, bytesOf([text]));
  eq(finding, null);
  ok(rows >= 1 && rows < 5, `${rows}`);
  ok(least >= 30 && probes < 10, `read from ${least} on after ${probes} probes`);
});

Deno.test("audit.export: a reader who loses the right gets no further piece, however slowly they read", async () => {
  await using world = await World.open();
  await world.signUp(); // the host, whose admins end no keys
  const owner = await world.signUp();
  const peer = await world.join(owner, ["viewer"]);
  await fill(world, owner, 300);
  const ofKey = await world.key(owner, ["audit:read"]);
  const ends: [string, string, unknown?][] = [
    [ofKey.value, `/api/v1/api-keys/${ofKey.id}/revoke`],
    [peer.token, "/api/v1/roles/viewer/revoke", { user_id: peer.userId }],
  ];
  for (const [as, path, body] of ends) {
    const headers = { accept: NDJSON };
    const reader = (await world.raw("GET", "/api/audit/export", { as, headers })).body!.getReader();
    ok((await reader.read()).value!.length > 0);
    eq((await world.call("POST", path, { as: owner.token, body })).status, 200);
    await rejects(reader.read(), /which you lost during the request/);
  }
});
