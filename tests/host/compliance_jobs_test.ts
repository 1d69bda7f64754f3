import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { reportRunner, stepReport } from "../../core/host/compliance/report_jobs.ts";
import {
  ACTORS_MAX,
  APPROVALS_MAX,
  countedNothing,
  countRow,
  EXCEPTIONS_MAX,
  loadCounted,
  saveCounted,
} from "../../core/host/compliance/count.ts";
import { QUERY_NAMES } from "../../core/host/compliance/queries.ts";
import { ROWS_PER_STEP } from "../../core/host/compliance/scan.ts";
import { eventJson, type EventType, OWN_EVENTS } from "../../core/events/emit.ts";
import { BLOB_BYTES_MAX } from "../../kv/engine/engine_limits.ts";
import { type ReportRecord, reports } from "../../kv/records/report.ts";
import { overKv } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { ask, list, make, read, rowsOf } from "./compliance_fixtures.ts";
import { rawRows } from "../support/raw_rows.ts";

const live = ({ org }: Account) => ({ org, space: "live" } as const);

/** Appends rows directly to the log. */
async function append(world: World, owner: Account, n: number, type: EventType): Promise<void> {
  const tenant = live(owner);
  for (let from = 0; from < n; from += 500) {
    await Promise.all(Array.from({ length: Math.min(500, n - from) }, (_, at) => {
      const json = eventJson({ ...world.app, actor: { id: `usr_${at}` } }, tenant, {
        type,
        resource: { type: "user", id: `usr_${at}` },
        details: OWN_EVENTS[type]!.example,
      });
      return world.app.store.append(tenant, type, json);
    }));
  }
}

const records = async (world: World, owner: Account): Promise<ReportRecord[]> =>
  (await world.app.store.list(reports, live(owner), { limit: 100 })).items;

async function blobs(world: World, owner: Account): Promise<string[]> {
  const ids = new Set<string>();
  const within = { org: owner.org, space: "live", kind: "blob" };
  for (const { id } of await rawRows(world.kv, within)) ids.add(id);
  return [...ids];
}

Deno.test("reports: an interrupted job continues after its last commit and counts nothing twice", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await append(world, owner, 2 * ROWS_PER_STEP + 1_000, "user_login_failed");
  await world.settle();
  await world.app.reports.stop();
  const { body: { id } } = await ask(world, owner.token, "access-review", "24h");
  const step = async (report: ReportRecord | undefined) => {
    await stepReport(world.app, live(owner), report!);
    return (await records(world, owner))[0]!;
  };
  const [queued] = await records(world, owner);
  const begun = await step(queued);
  deq([begun.status, begun.scan!.position], ["running", 0]);
  const once = await step(begun);
  deq(once.scan!.position, ROWS_PER_STEP);
  // Another instance that began the same step commits nothing.
  deq(await step(begun), once);
  await append(world, owner, 10, "user_login_failed");
  const { body: { progress } } = await read(world, owner.token, `?id=${id}`);
  deq(progress, { rows_read: ROWS_PER_STEP, rows_total: once.scan!.size });
  const restarted = reportRunner(world.app);
  restarted.wake();
  await restarted.idle();
  const { body: { status, report } } = await read(world, owner.token, `?id=${id}`);
  eq(status, "completed");
  const rows = await rowsOf(world, owner, report);
  eq(report.log.rows, rows.length);
  const failed = rows.filter(({ event_type }) => event_type === "user_login_failed");
  eq(failed.length, 2 * ROWS_PER_STEP + 1_000);
  const query = report.queries.find((one: { id: string }) => one.id === "failed_sign_ins");
  deq([query.rows, query.last.seq], [failed.length, failed.at(-1)!.seq]);
  deq([report.exceptions.found, report.exceptions.listed.length], [failed.length, EXCEPTIONS_MAX]);
  ok(report.limitations.some((text: string) => text.includes(`first ${EXCEPTIONS_MAX}`)));
  const { pack, scan } = (await records(world, owner))[0]!;
  eq(scan!.counted, null);
  const swept = new Set(await blobs(world, owner));
  ok(swept.has(pack!.blob.id));
  ok(!swept.has(once.scan!.counted!.id), "what was counted on the way is still there");
});

Deno.test("reports: an error is retried, and after five the report fails and is recorded", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { log } = world.app;
  const readRows = log.read.bind(log);
  let tries = 0;
  // Only a report reads single rows.
  log.read = (...args) => {
    if (args[2] === 1) tries++;
    return args[2] === 1 && tries < 3 ? Promise.reject(new Error("no disk")) : readRows(...args);
  };
  await ask(world, owner.token, "soc2", "24h");
  await world.advance(10_000);
  deq((await records(world, owner)).map(({ status, failures }) => [status, failures > 0]), [
    ["completed", true],
  ]);
  tries = -1_000;
  await ask(world, owner.token, "soc2", "24h");
  await world.advance(10_000);
  log.read = readRows;
  eq(tries, 5 - 1_000);
  const { body: { reports: [failed] } } = await list(world, owner.token);
  deq([failed.status, failed.sha256], ["failed", null]);
  eq((await world.trail(owner)).at(-1), "compliance_report_failed");
});

Deno.test("reports: at most ten are unfinished at a time", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const app of world.apps) await app.reports.stop();
  const answers = [];
  for (let n = 0; n < 12; n++) answers.push((await ask(world, owner.token, "soc2", "24h")).status);
  deq(answers, [...Array(10).fill(202), 409, 409]);
  // Newer finished ones do not hide an older one.
  for (const report of (await records(world, owner)).slice(-5)) {
    await world.app.store.transact((tx) =>
      tx.put(reports, live(owner), { ...report, status: "failed", finished_at_ms: 1 })
    );
  }
  for (let n = 0; n < 5; n++) eq((await ask(world, owner.token, "soc2", "24h")).status, 202);
  eq((await ask(world, owner.token, "soc2", "24h")).status, 409);
});

Deno.test("reports: of two concurrent requests for the tenth place one is refused", async () => {
  const engine = await Deno.openKv(":memory:");
  const statuses: number[] = [];
  let meanwhile: (() => Promise<number>) | null = null;
  const get = async (...args: Parameters<Deno.Kv["get"]>) => {
    const other = args[0].at(-1) === "reports#" ? meanwhile : null;
    if (other !== null) {
      meanwhile = null;
      statuses.push(await other());
    }
    return await engine.get(...args);
  };
  await using world = await World.open({ kv: overKv(engine, { get: get as Deno.Kv["get"] }) });
  const owner = await world.signUp();
  await world.app.reports.stop();
  const one = async () => (await ask(world, owner.token, "soc2", "24h")).status;
  for (let n = 0; n < 9; n++) eq(await one(), 202);
  // The other request commits between the reads of this one.
  meanwhile = one;
  statuses.push(await one());
  deq(statuses.sort(), [202, 409]);
});

Deno.test("reports: a period that ends after the log was read has not ended, however late the report finishes", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await world.app.reports.stop();
  const today = new Date(world.clock.now()).toISOString().slice(0, 10);
  const asked = await ask(world, owner.token, "access-review", `${today}..${today}`);
  await stepReport(world.app, live(owner), (await records(world, owner))[0]!);
  // The relay is killed here, and later events of the day are not part of the report.
  await append(world, owner, 3, "user_login_failed");
  world.clock.nowMs += 50 * 60 * 60 * 1000;
  const restarted = reportRunner(world.app);
  restarted.wake();
  await restarted.idle();
  const body = { email: owner.email, password: "password 1" };
  const { token } = (await world.call("POST", "/api/v1/login", { body })).body;
  const { body: { report } } = await read(world, token, `?id=${asked.body.id}`);
  eq(report.queries.find(({ id }: { id: string }) => id === "failed_sign_ins").rows, 0);
  eq(report.period.ended, false);
  ok(report.limitations.some((text: string) => text.startsWith("The period had not ended")));
});

Deno.test("reports: an altered row is no evidence and is reported", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await append(world, owner, 40, "user_login_failed");
  await world.app.log.flush();
  const within = { org: owner.org, space: "live", kind: "log" };
  const failed = '"event_type":"user_login_failed"';
  let edited = 0;
  const edits = [
    [failed, '"event_type":"user_login"'],
    ['"timestamp":"2', '"timestamp":"3'],
    ['"timestamp":"2', '"timestamp":"1'],
  ] as const;
  for (const [was, becomes] of edits) {
    for (const { key, value } of await rawRows<Uint8Array>(world.kv, within)) {
      const rows = new TextDecoder().decode(value).split("\n");
      const at = rows.findIndex((row) => row.includes(failed));
      if (at < 0) continue;
      const changed = rows.with(at, rows[at]!.replace(was, becomes));
      await world.kv.set(key, new TextEncoder().encode(changed.join("\n")));
      const { report } = await make(world, owner, "access-review", "24h");
      const counts = Object.fromEntries(
        report.queries.map(({ id, rows }) => [id, rows]),
      );
      deq([counts.failed_sign_ins, counts.sign_ins, report.log.altered], [39, 0, 1], becomes);
      ok(report.limitations.some((text) => /^1 of the rows read were altered/.test(text)));
      await world.kv.set(key, value);
      edited++;
      break;
    }
  }
  eq(edited, edits.length);
  const { report } = await make(world, owner, "access-review", "24h");
  eq(report.log.altered, 0);
});

Deno.test("countRow: the counts are bounded, survive saving, and fit into a blob", () => {
  const counted = countedNothing();
  const wanted = new Set(QUERY_NAMES);
  const long = "\u0001".repeat(300);
  for (let seq = 1; seq <= 4 * ACTORS_MAX; seq++) {
    const resolved = seq % 2 === 0;
    const row = {
      actor: `${seq}`.padStart(128, "a"),
      agent_id: `agt_${seq}`,
      details: { command: long, reason: long, decision: "approved", decided_by: long },
      event_id: crypto.randomUUID(),
      event_type: resolved ? "approval_resolved" : "command_denied",
      organization_id: "org",
      resource_id: "r".repeat(128),
      resource_type: "approval",
      timestamp: "2030-01-01T00:00:00.000Z",
    };
    countRow(counted, wanted, seq, row);
  }
  const bytes = saveCounted(counted);
  ok(bytes.length < BLOB_BYTES_MAX, `${bytes.length} bytes`);
  deq(loadCounted(bytes), counted);
  deq([counted.actors.size, counted.approvals.length], [ACTORS_MAX, APPROVALS_MAX]);
  deq([counted.exceptions.length, counted.exceptions_found], [EXCEPTIONS_MAX, 2 * ACTORS_MAX]);
});
