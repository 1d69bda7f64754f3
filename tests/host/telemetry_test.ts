import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { verifyExport } from "../../core/events/trail/verify_export.ts";
import { readKey } from "../../core/protocol/checkpoints/note.ts";
import { writtenAtMs } from "../../core/events/trail/row_times.ts";
import { auditTreeId, auditTrees } from "../../kv/records/audit.ts";
import { SPANS } from "../../kv/store/trace.ts";
import { approve, setUp, waiting } from "../agents/approvals/approval_fixtures.ts";
import { makeFleet, start } from "../agents/commands/fleet_fixtures.ts";
import { forbidding, withRepository } from "../policies/git_fixtures.ts";
import { eventsOf, exec, linkAgent, makeHook, runsOf } from "../support/linked_agent.ts";
import { type Account, World } from "../support/world.ts";
import { RecordedTracing } from "./recorded_tracing.ts";

const traceOf = (traceparent: string | undefined) => traceparent?.split("-")[1];

/** The rows of an event type, newest first. */
async function rowsOf(world: World, { token }: Account, type: string) {
  await world.settle();
  const { body } = await world.call("GET", `/api/audit?event_type=${type}`, { as: token });
  return body.events as Record<string, string>[];
}

Deno.test("telemetry: an approved command runs in the trace of the request that asked for it", async () => {
  const tracing = new RecordedTracing();
  await using world = await World.open({ tracing });
  const here = await setUp(world);
  const pid = await waiting(world, here, here.admin.token);
  const asked = tracing.spans.findLast(({ name }) => name === "GET /api/exec/{agent_id}")!;
  eq((await approve(world, pid, here.colleague.token)).status, 200);
  await world.settle();
  eq(traceOf(runsOf(here.agent)[0]!.traceparent), asked.traceId);
  const [row] = await rowsOf(world, here.owner, "command_executed");
  eq(row!.trace_id, asked.traceId);
  const trip = tracing.of(asked.traceId).find(({ name }) => name === "agent round trip")!;
  eq(trip.attributes?.["relay.command_status"], "succeeded");
});

Deno.test("telemetry: the rows of a trace have their times, also after the clock was set back", async () => {
  const tracing = new RecordedTracing();
  await using world = await World.open({ tracing });
  const owner = await world.signUp();
  const startMs = world.clock.now();
  const use = () => world.key(owner, ["agents:read"]);
  await use();
  await world.settle();
  const tenant = { org: owner.org, space: "live" } as const;
  const treeOf = () => world.app.store.get(auditTrees, tenant, auditTreeId(tenant));
  eq((await treeOf())!.latest, new Date(startMs).toISOString());
  const [row] = await world.app.log.readBack(tenant, await world.app.log.head(tenant) + 1, 1);
  ok(row!.json.includes('"trace_id"'));
  eq(writtenAtMs(row!), startMs);
  await world.advance(600_000);
  await use();
  await world.settle();
  eq((await treeOf())!.set_back, 0);
  world.clock.nowMs = startMs;
  await use();
  await world.settle();
  const { set_back, latest } = (await treeOf())!;
  ok(set_back > 0);
  eq(latest, new Date(startMs).toISOString());
});

Deno.test("telemetry: every command of a fleet runs in the trace of its request", async () => {
  const tracing = new RecordedTracing();
  await using world = await World.open({ tracing });
  const { owner, agents } = await makeFleet(world, 3);
  eq((await start(world, owner, { all: true })).status, 202);
  const { traceId } = tracing.spans.findLast(({ name }) => name === "POST /api/v1/commands")!;
  const traces = agents.map((agent) => traceOf(runsOf(agent)[0]?.traceparent));
  deq(traces, [traceId, traceId, traceId]);
  const [ended] = await rowsOf(world, owner, "fleet_command_ended");
  eq(ended!.trace_id, traceId);
});

Deno.test("telemetry: deliveries continue the trace of their event, also in a retry", async () => {
  const tracing = new RecordedTracing();
  await using world = await World.open({ tracing });
  const here = await linkAgent(world);
  await makeHook(world, here.owner, ["command_executed"]);
  world.network.reply = () => world.network.sent.length === 1 ? 503 : 204;
  await exec(world, here, "uptime");
  await world.advance(60_000);
  const asked = tracing.spans.find(({ name }) => name === "GET /api/exec/{agent_id}")!;
  const attempts = tracing.of(asked.traceId).filter(({ name }) => name === "webhook attempt");
  deq(
    attempts.map(({ attributes }) => [attributes?.["relay.attempt"], attributes?.["error.type"]]),
    [
      [1, "503"],
      [2, undefined],
    ],
  );
  const sent = world.network.sent.map(({ headers }) => traceOf(headers["traceparent"]));
  deq(sent, [asked.traceId, asked.traceId]);
});

Deno.test("telemetry: a scheduled sync begins a trace of its own, and an apply has it in the request's", async () => {
  const tracing = new RecordedTracing();
  await using world = await World.open({ tracing });
  const git = await withRepository(world, { sync_seconds: 60, policy_path: "policies" });
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await world.advance(180_000);
  const syncs = () => tracing.spans.filter(({ name }) => name === "git sync");
  ok(syncs().length > 0);
  ok(syncs().every(({ parent, attributes }) => parent === null && attributes !== null));
  const before = syncs().length;
  const body = { repo_url: git.host.url, branch: "main", policy_path: "policies", dry_run: true };
  const applied = await world.call("POST", "/api/v1/gitops/apply", { as: git.owner.token, body });
  eq(applied.status, 200, applied.text);
  const apply = tracing.spans.findLast(({ name }) => name === "POST /api/v1/gitops/apply")!;
  deq(syncs().slice(before).map(({ traceId }) => traceId), [apply.traceId]);
});

Deno.test("telemetry: rows, orders and deliveries of an untraced relay say nothing of traces", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await makeHook(world, here.owner, ["command_executed"]);
  await exec(world, here, "uptime");
  const [order] = runsOf(here.agent);
  eq("traceparent" in order!, false);
  const events = await eventsOf(world, here.owner, order!.command_id);
  deq(events.filter((row) => "trace_id" in row || "span_id" in row), []);
  deq(world.network.sent.filter(({ headers }) => "traceparent" in headers), []);
});

Deno.test("telemetry: an exported log with traces verifies", async () => {
  const tracing = new RecordedTracing();
  await using world = await World.open({ tracing });
  const here = await linkAgent(world);
  await exec(world, here, "uptime");
  await world.settle();
  const as = { as: here.owner.token };
  const headers = { accept: "application/x-ndjson" };
  const { text } = await world.call("GET", "/api/audit/export", { ...as, headers });
  ok(text.includes('"trace_id"'));
  const { body: { public_key } } = await world.call("GET", "/api/audit/checkpoint", as);
  const chunks = ReadableStream.from([new TextEncoder().encode(text)]);
  const { finding } = await verifyExport(chunks, { key: readKey(public_key)! });
  eq(finding, null);
});

Deno.test("docs/telemetry.md: has every span with its kind and attributes, and no other", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/telemetry.md", import.meta.url));
  const rows = [...page.matchAll(/^\| `([^`]+)` +\| (internal|server|client) +\| ([^|]*?) +\|/gm)];
  deq(
    rows.map(([, name, kind, attributes]) => [
      name,
      kind,
      [...attributes!.matchAll(/`([^`]+)`/g)].map(([, attribute]) => attribute),
    ]),
    Object.entries(SPANS).map(([name, { kind, attributes }]) => [
      name === "request" ? "<method> <route>" : name,
      kind,
      attributes,
    ]),
  );
});
