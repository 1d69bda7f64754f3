import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/codec/canonical.ts";
import { readKey, verifiesNote } from "../../core/protocol/checkpoints/note.ts";
import { CONTROLS, controlsOf } from "../../core/host/compliance/controls.ts";
import { QUERIES, QUERY_NAMES } from "../../core/host/compliance/queries.ts";
import { OWN_EVENTS } from "../../core/events/emit.ts";
import { REPORT_TYPES } from "../../kv/records/report.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";
import { ask, found, HOUR_MS, list, make, read, type Row, rowsOf } from "./compliance_fixtures.ts";
import { AGENT_RIGHTS, exec, makeHook } from "../support/linked_agent.ts";

/** An organization with events of most types, over two days. */
async function busy(world: World): Promise<{ owner: Account; keys: { id: string }[] }> {
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS);
  const approver = await world.join(owner, ["operator"]);
  const send = (method: string, path: string, as: string, body?: unknown) =>
    world.call(method, path, { as, body });
  const { token } = owner;
  await send("POST", "/api/v1/login", "", { email: owner.email, password: "wrong password" });
  const weak = await world.key(owner, ["agents:read"]);
  eq((await send("GET", "/api/v1/webhooks", weak.value)).status, 403);
  const retired = await world.key(owner, ["agents:read"]);
  await send("POST", `/api/v1/api-keys/${retired.id}/revoke`, token);
  world.clock.advance(25 * HOUR_MS);
  await world.settle();
  const agent = await ScriptedAgent.connect(world, key.value);
  const { body: { token: again } } = await send("POST", "/api/v1/login", "", {
    email: owner.email,
    password: "password 1",
  });
  const later = { ...owner, token: again };
  agent.script = ({ command }) => ({ exit_code: command === "false" ? 1 : 0 });
  for (const command of ["uptime", "false"]) {
    eq((await exec(world, { owner: later, agent }, command)).status, 200);
  }
  eq((await exec(world, { owner: later, agent }, "rm -rf /")).status, 403);
  const session = await send("POST", "/api/v1/login", "", {
    email: approver.email,
    password: "password 1",
  });
  for (const how of ["approve", "reject"]) {
    const { body } = await exec(world, { owner: later, agent }, "systemctl stop nginx");
    const reason = { reason: "<script>alert(1)</script> & co" };
    await send("POST", `/api/shield/${how}/${body.approval_id}`, session.body.token, reason);
  }
  const shield = { approvals: { self_approval: true } };
  await send("PATCH", "/api/shield/settings", again, shield);
  const { body } = await exec(world, { owner: later, agent }, "systemctl stop nginx");
  await send("POST", `/api/shield/approve/${body.approval_id}`, again, { reason: "my own" });
  for (const event_type of ["user_login", "constructor", "deploy"]) {
    await send("POST", "/api/audit/event", again, { event_type, details: { at: 1 } });
  }
  await world.settle();
  return { owner: later, keys: [weak, retired] };
}

Deno.test("compliance: every number of every type equals a count from the export", async () => {
  await using world = await World.open();
  const { owner } = await busy(world);
  const seen = new Set<string>();
  for (const type of REPORT_TYPES) {
    for (const period of ["24h", "30d", "2030-01-01..2030-01-01"]) {
      const { report } = await make(world, owner, type, period);
      const rows = await rowsOf(world, owner, report);
      eq(report.log.rows, rows.length);
      ok(rows.length > 0);
      const outside = rows.filter(({ resource_type }) => resource_type === "external");
      eq(report.log.from_outside, outside.length);
      deq(
        new Map(report.event_types.map((one) => [one.event_type, one.rows])),
        new Map([...Map.groupBy(rows, (row) => row.event_type)].map(([t, of]) => [t, of.length])),
      );
      for (const query of report.queries) {
        const matching = found(query, rows);
        eq(query.rows, matching.length, `${type} ${period} ${query.id}`);
        deq([query.first, query.last], [pointer(matching[0]), pointer(matching.at(-1))]);
        if (matching.length > 0) seen.add(query.id);
      }
      const byId = new Map(report.queries.map((query) => [query.id, query]));
      eq(report.controls.length, controlsOf(type).length);
      for (const { queries, rows: sum, evidence } of report.controls) {
        eq(sum, queries.reduce((total, id) => total + byId.get(id)!.rows, 0));
        eq(evidence, sum === 0 ? "none" : "rows");
      }
      const exceptional = report.queries.filter(({ exception }) => exception);
      const exceptions = exceptional.flatMap((query) =>
        found(query, rows).map((row) => `${row.seq} ${row.event_id} ${query.id}`)
      );
      eq(report.exceptions.found, exceptions.length);
      deq(
        report.exceptions.listed.map((one) => `${one.seq} ${one.event_id} ${one.query}`).sort(),
        exceptions.sort(),
      );
      const resolved = rows.filter((row) => row.event_type === "approval_resolved");
      const had = report.approvals?.resolved.map((one) => [one.seq, one.decision, one.decided_by]);
      if (had) {
        deq(had, resolved.map((r) => [r.seq, r.details.decision, r.details.decided_by]));
      }
      for (
        const holder of [report.access?.users, report.access?.api_keys].flatMap((of) => [
          ...of?.listed ?? [],
        ])
      ) {
        const own = rows.filter((row) =>
          row.actor === holder.id && row.resource_type !== "external"
        );
        eq(holder.rows_in_period, own.length);
        eq(holder.last_row_at, own.at(-1)?.timestamp ?? null);
      }
      for (const { agent_id, ...outcomes } of report.commands?.by_agent ?? []) {
        for (const [id, n] of Object.entries(outcomes)) {
          const own = rows.filter((row) => row.agent_id === agent_id);
          eq(n, found(byId.get(id as never)!, own).length);
        }
      }
    }
  }
  for (const id of ["failed_sign_ins", "key_uses_denied", "refused_for_rights"]) ok(seen.has(id));
  for (const id of ["commands_denied", "commands_failed", "keys_ended"]) ok(seen.has(id), id);
  for (const id of ["granted", "rejected", "by_requester"]) ok(seen.has(`approvals_${id}`), id);
});

const pointer = (row: Row | undefined) =>
  row === undefined ? null : { seq: row.seq, event_id: row.event_id, timestamp: row.timestamp };

Deno.test("compliance: a period without rows says so, and claims nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await world.advance(HOUR_MS / 2);
  for (const type of REPORT_TYPES) {
    const { id, report } = await make(world, owner, type, "2029-01-01..2029-03-31");
    deq([report.no_data, report.log.rows, report.exceptions.found], [true, 0, 0]);
    ok(report.statement.includes("no evidence"));
    ok(report.limitations.includes("There is no data for this period."));
    ok(report.controls.every(({ evidence, rows }) => evidence === "none" && rows === 0));
    const page = await world.raw("GET", `/api/v1/compliance/report?format=html&id=${id}`, {
      as: owner.token,
    });
    ok((await page.text()).includes("The log holds no row of this period."));
  }
});

Deno.test("compliance: the note signs the pack with the audit key, and no other pack", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { report, note, sha256, public_key } = await make(world, owner, "soc2", "24h");
  const key = readKey(public_key)!;
  ok(verifiesNote(note, key));
  ok(verifiesNote(report.log.checkpoint, key));
  const digest = createHash("sha256").update(canonicalJson(report)).digest("hex");
  eq(digest, sha256);
  ok(note.split("\n").includes(`sha256 ${digest}`));
  ok(note.split("\n").includes(`report ${report.id} soc2`));
  ok(!verifiesNote(note.replace(digest, digest.replace(/^./, "z")), key));
  ok(
    !verifiesNote(
      note,
      readKey((await make(world, await world.signUp(), "soc2", "24h")).public_key)!,
    ),
  );
});

Deno.test("compliance: the page escapes what people wrote and loads nothing", async () => {
  await using world = await World.open();
  const { owner } = await busy(world);
  const name = `<img src=x onerror="alert(1)">'`;
  await world.key(owner, ["agents:read"], { name });
  await make(world, owner, "soc2", "30d");
  for (const query of ["?format=html", ""]) {
    const headers = { accept: query === "" ? "text/html,*/*" : "application/json" };
    const path = `/api/v1/compliance/report${query}`;
    const answer = await world.raw("GET", path, { as: owner.token, headers });
    const page = await answer.text();
    eq(answer.headers.get("content-type"), "text/html; charset=utf-8");
    ok(answer.headers.get("content-security-policy")!.startsWith("default-src 'none'"));
    eq(answer.headers.get("cache-control"), "no-store");
    ok(page.includes("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;&#39;"));
    ok(page.includes("&lt;script&gt;alert(1)&lt;/script&gt; &amp; co"));
    ok(!/<(script|img|link|iframe)|<[^>]*\s(on\w+|src|href)=|url\(/i.test(page));
  }
  const { status, body } = await world.call("GET", "/api/v1/compliance/report", {
    as: owner.token,
    headers: { accept: "image/png" },
  });
  deq([status, body.error.code], [406, "NOT_ACCEPTABLE"]);
});

Deno.test("compliance: a finished report is an event that webhooks receive", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await makeHook(world, owner, ["compliance_report_generated"]);
  const { id } = await make(world, owner, "access-review", "2030-Q1");
  await world.settle();
  const [request] = world.network.sent;
  const { event_type, payload } = JSON.parse(String(request!.body));
  deq([event_type, payload], ["compliance_report_generated", {
    report_id: id,
    type: "access-review",
    period: { from: "2030-01-01", to: "2030-03-31" },
    user: owner.userId,
  }]);
  const trail = await world.trail(owner);
  const own = trail.filter((type) => type.startsWith("compliance"));
  deq(own, [
    "compliance_report_requested",
    "compliance_report_generated",
    "compliance_report_read",
  ]);
});

Deno.test("compliance: reports are listed newest first, and another organization's is 404", async () => {
  await using world = await World.open();
  const owner = await world.signUp(), other = await world.signUp();
  deq((await read(world, owner.token)).body.error.code, "NOT_FOUND");
  const made = [];
  for (const type of ["soc2", "pci", "commands"]) {
    made.push((await make(world, owner, type, "24h")).id);
    await world.advance(1_000);
  }
  const { body } = await list(world, owner.token, "?limit=2");
  deq(body.reports.map(({ id }: { id: string }) => id), made.toReversed().slice(0, 2));
  deq(body.pagination, { total: 3, limit: 2, offset: 0, has_more: true });
  eq((await read(world, owner.token)).body.id, made[2]);
  deq((await list(world, other.token)).body.reports, []);
  const bare = (text: string) => text.replace(/"request_id":"[^"]+"/, "");
  const theirs = await read(world, other.token, `?id=${made[0]}`);
  const missing = await read(world, other.token, "?id=rep_missing");
  deq([theirs.status, bare(theirs.text)], [404, bare(missing.text)]);
});

Deno.test("compliance: a report of the test space covers only the test space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await world.key(owner, ["agents:read"]);
  const tested = await world.key(owner, ["system:read", "system:write"], { type: "test" });
  const { report } = await make(world, { ...owner, token: tested.value }, "access-review", "24h");
  deq([report.space, report.access!.users.listed], ["test", []]);
  ok(report.limitations.some((text) => /Users belong to the live space/.test(text)));
  deq(report.access!.api_keys.listed.map(({ id }) => id), [tested.id]);
  deq(report.event_types.map(({ event_type }) => event_type).includes("api_key_used"), true);
});

Deno.test("compliance: an invalid period is refused, and nothing is written", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const bad = ["", "0h", "24", "1y", "2026-Q5", "2026-02-30..2026-03-01", "2031-Q1", "400000h"];
  bad.push("2030-02-01..2030-01-01", "2001-01-01..2029-01-01", "99999d", "2026-07-01");
  for (const period of bad) {
    const { status, body } = await ask(world, owner.token, "soc2", period);
    deq([status, body.error.code, body.error.details.issues[0].path], [
      400,
      "VALIDATION_FAILED",
      "body.period",
    ], period);
  }
  eq((await ask(world, owner.token, "sox", "24h")).status, 400);
  deq((await list(world, owner.token)).body.reports, []);
  const trail = await world.trail(owner);
  ok(!trail.some((type) => type.startsWith("compliance")));
});

/** Types without a control: they report neither rights nor actions. */
const NO_EVIDENCE = [
  "account_settings_changed",
  "agent_connected",
  "agent_health_changed",
  "fleet_command_ended",
  "fleet_command_started",
  "ingest_refused",
  "integration_failed",
  "mcp_client_refreshed",
  "notification_sent",
  "organization_renamed",
  "plan_created",
  "plan_deleted",
  "plan_updated",
  "policy_confirmed",
  "session_closed",
  "session_refreshed",
  "session_started",
  "session_timeout",
  "webhook_delivery_resent",
  "webhook_recovery_cancelled",
  "webhook_recovery_started",
  "webhook_tested",
];

Deno.test("compliance: every event type is evidence of a control or is listed as none", () => {
  const asked = new Set<string>(
    CONTROLS.flatMap(({ queries }) => queries.flatMap((name) => [...QUERIES[name].event_types])),
  );
  const types = Object.keys(OWN_EVENTS);
  deq(types.filter((type) => !asked.has(type)).sort(), NO_EVIDENCE);
  const used = new Set(CONTROLS.flatMap(({ queries }) => queries));
  deq(QUERY_NAMES.filter((name) => !used.has(name)), []);
});

Deno.test("compliance: a period's rows count though a clock was set back within it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const ahead of [0, HOUR_MS / 3, 0, 0]) {
    world.clock.nowMs += ahead;
    await world.key(owner, ["agents:read"]);
    await world.settle();
    world.clock.nowMs -= ahead;
  }
  const { report } = await make(world, owner, "access-review", "24h");
  eq(report.queries.find(({ id }) => id === "keys_made")!.rows, 3);
});

Deno.test("compliance: a key value counts as older than 90 days right after 90 days", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const old = await world.key(owner, ["system:write", "system:read"], { expires_days: 365 });
  world.clock.nowMs += 90.5 * 24 * HOUR_MS;
  const { report } = await make(world, { ...owner, token: old.value }, "access-review", "24h");
  const { remarks } = report.access!.api_keys.listed.find(({ id }) => id === old.id)!;
  ok(remarks.includes("its value is older than 90 days"), `${remarks}`);
});

Deno.test("compliance: a user with system:write through a custom role is remarked", async () => {
  await using world = await World.open();
  await world.signUp(); // the host
  const owner = await world.signUp();
  const body = { name: "keeper", permissions: ["system:write", "system:read"] };
  const made = await world.call("POST", "/api/v1/roles", { as: owner.token, body });
  eq(made.status, 201, made.text);
  const keeper = await world.join(owner, ["keeper"]);
  const reader = await world.join(owner, ["viewer"]);
  const { report } = await make(world, owner, "access-review", "24h");
  const remarksOf = (id: string) => report.access!.users.listed.find((u) => u.id === id)!.remarks;
  ok(remarksOf(keeper.userId).includes("may change the system"));
  ok(!remarksOf(reader.userId).includes("may change the system"));
});
