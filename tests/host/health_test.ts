import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { noteBackup } from "../../core/host/backup/last_backup.ts";
import type { Manifest } from "../../core/host/backup/manifest.ts";
import { VERSION } from "../../core/protocol/protocol.ts";
import { AWAY, StoreUnavailableError } from "../../kv/engine/errors.ts";
import { committing, overKv } from "../support/kv.ts";
import { StreamClient } from "../support/stream.ts";
import { withFolder } from "../support/processes.ts";
import { World } from "../support/world.ts";
import { tool } from "../mcp/client.ts";
import { exec, linkAgent, makeHook } from "../support/linked_agent.ts";

Deno.test("healthz: answers ok to everyone", async () => {
  await using world = await World.open();
  const { status, body } = await world.call("GET", "/healthz");
  deq([status, body], [200, { status: "ok" }]);
});

Deno.test("health: shows statuses to everyone, figures only to a host credential with system:read", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const stranger = await world.signUp();
  const reader = await world.key(here.owner, ["system:read"]);
  const health = async (as?: string) => (await world.call("GET", "/health", { as })).body;
  const bare = { status: "ok", components: { store: "ok" } };
  deq(await health(), bare);
  deq(await health(here.key.value), bare);
  deq(await health(stranger.token), bare);
  deq(await health((await world.key(stranger, ["system:read"])).value), bare);
  await world.advance(61_500);
  const told = await health(reader.value);
  deq(told, {
    ...bare,
    version: VERSION,
    uptime_seconds: 61,
    store_round_trip_ms: told.store_round_trip_ms,
    jobs_due: 0,
    agents_linked: 0,
    commands_under_way: 0,
  });
  ok(told.store_round_trip_ms >= 0);
  eq((await health(here.owner.token)).version, VERSION);
});

Deno.test("health: shows when the store was last backed up, also a store whose backup no process of it saw", async () => {
  await withFolder(async (folder) => {
    const kv = `${folder}/relay.kv`;
    await using world = await World.open({ settings: { kv } });
    const { token } = await world.signUp();
    const shown = async () => [
      (await world.call("GET", "/health", { as: token })).body.last_backup_at,
      Number(
        /^relay_last_backup_timestamp_seconds (.*)$/m
          .exec((await world.call("GET", "/metrics", { as: token })).text)![1],
      ),
    ];
    deq(await shown(), [null, 0]);
    const note = (taken_at: string, epoch = world.app.epoch) =>
      noteBackup(kv, { taken_at, epoch } as Manifest);
    // A note of the store that was here before, such as before a restore.
    note("2030-01-03T00:00:00.000Z", "e_other");
    deq(await shown(), [null, 0]);
    note("2030-01-02T00:00:00.000Z");
    const newest = ["2030-01-02T00:00:00.000Z", Date.UTC(2030, 0, 2) / 1000];
    deq(await shown(), newest);
    // The newest one was taken after the clock was set back.
    note("2030-01-01T00:00:00.000Z");
    deq(await shown(), ["2030-01-01T00:00:00.000Z", Date.UTC(2030, 0, 1) / 1000]);
    await Deno.writeTextFile(`${kv}.last-backup`, "{");
    deq(await shown(), [null, 0]);
  });
});

Deno.test("health: says nothing of backups for a store that relay backup does not copy", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { body } = await world.call("GET", "/health", { as: token });
  eq("last_backup_at" in body, false);
  eq((await world.call("GET", "/metrics", { as: token })).text.includes("last_backup"), false);
});

Deno.test("health: a credential that is not accepted is ignored, like on /healthz", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const ended = await world.key(owner, ["system:read"]);
  eq(
    (await world.call("DELETE", `/api/v1/api-keys/${ended.id}`, { as: owner.token })).status,
    204,
  );
  const bare = { status: "ok", components: { store: "ok" } };
  for (const as of [ended.value, "svc_live_junk", "a.b.c"]) {
    for (const path of ["/healthz", "/health"]) {
      const { status, headers } = await world.call("GET", path, { as });
      deq([status, headers.get("x-ratelimit-limit")], [200, "2147483647"], path);
    }
    deq((await world.call("GET", "/health", { as })).body, bare);
    eq((await world.raw("HEAD", "/health", { as })).status, 200);
  }
  eq((await world.call("GET", "/health", { headers: { authorization: "Basic x" } })).status, 200);
});

Deno.test("health, metrics: the test space sees no figures of the live one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["system:read"], { type: "test" });
  const inTests = { as: owner.token, headers: { "x-relay-space": "test" } };
  for (const call of [{ as: key.value }, inTests]) {
    const { status, body } = await world.call("GET", "/health", call);
    deq([status, body], [200, { status: "ok", components: { store: "ok" } }]);
    const refused = await world.call("GET", "/metrics", call);
    deq([refused.status, refused.body.error.code], [403, "FORBIDDEN"]);
    ok(!refused.text.includes("relay_"));
  }
  eq((await world.call("GET", "/metrics", { as: owner.token })).status, 200);
});

Deno.test("health: records the use of a key, and counts a failed credential against its address", async () => {
  await using world = await World.open({
    config: {
      limits: { public_per_minute: 3 },
      plans: { enterprise: { requests_per_minute: 4 } },
    },
  });
  const owner = await world.signUp();
  const reader = await world.key(owner, ["system:read"]);
  const status = async (as?: string) => (await world.call("GET", "/health", { as })).status;
  deq([await status(reader.value), await status(reader.value)], [200, 200]);
  // Signing up took one of three for this address, making the key one of four for the plan.
  deq([await status("svc_live_junk"), await status("a.b.c")], [200, 200]);
  eq((await world.call("GET", "/.well-known/jwks.json")).status, 429);
  deq([await status("svc_live_junk"), await status("a.b.c")], [200, 200]);
  deq([await status(reader.value), await status(reader.value)], [200, 429]);
  for (let n = 0; n < 9; n++) eq(await status(), 200);
  await world.advance(60_000);
  const { body } = await world.call("GET", `/api/audit?resource_id=${reader.id}`, {
    as: owner.token,
  });
  const used = body.events.filter(({ event_type }: { event_type: string }) =>
    event_type === "api_key_used"
  );
  deq(
    used.map(({ details }: { details: unknown }) => details),
    Array(3).fill({ endpoint: "GET /health", status: 200 }),
  );
});

Deno.test("health: counts what is linked, running and due now", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await makeHook(world, here.owner, ["command_executed"]);
  const health = async () => (await world.call("GET", "/health", { as: here.owner.token })).body;
  here.agent.script = () => "silent";
  const asked = exec(world, here, "sleep 9");
  await world.settle();
  const busy = await health();
  deq([busy.agents_linked, busy.commands_under_way], [1, 1]);
  here.agent.drop();
  await asked;
  await world.settle();
  const idle = await health();
  deq([idle.agents_linked, idle.commands_under_way], [0, 0]);
});

Deno.test("health: a store that fails is degraded, and says so without figures", async () => {
  const engine = await Deno.openKv(":memory:");
  let broken = false;
  const kv = overKv(engine, {
    get: (...args: Parameters<Deno.Kv["get"]>) =>
      broken ? Promise.reject(new Error("no disk")) : engine.get(...args) as never,
  });
  await using world = await World.open({ kv });
  broken = true;
  const { status, body } = await world.call("GET", "/health");
  broken = false;
  deq([status, body], [200, { status: "degraded", components: { store: "down" } }]);
});

/** An engine whose disk is full when it is told so: what is there can be read. */
async function fullDisk(): Promise<{ kv: Deno.Kv; full: boolean }> {
  const engine = await Deno.openKv(":memory:");
  const disk = {
    full: false,
    kv: committing(engine, async (commit) => {
      if (disk.full) throw new TypeError("database or disk is full");
      return await commit();
    }),
  };
  return disk;
}

Deno.test("health: a store that takes no changes is down until a change succeeds again", async () => {
  const disk = await fullDisk();
  await using world = await World.open({ kv: disk.kv });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const health = async () => (await world.call("GET", "/health")).body;
  const use = async () => (await world.call("GET", "/api/v1/agents", { as: key.value })).status;
  disk.full = true;
  const refused = await world.call("GET", "/api/v1/agents", { as: key.value });
  deq([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  deq(await health(), { status: "degraded", components: { store: "down" } });
  deq(await health(), { status: "degraded", components: { store: "down" } });
  disk.full = false;
  deq(await health(), { status: "ok", components: { store: "ok" } });
  eq(await use(), 200);
});

Deno.test("log: a failing store is logged once with its cause and remedy, and once when it recovers", async () => {
  const disk = await fullDisk();
  await using world = await World.open({ kv: disk.kv });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  await world.settle();
  disk.full = true;
  const before = world.logged.length;
  for (let n = 0; n < 5; n++) {
    eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 503);
    await world.advance(1_000);
  }
  const [told, ...rest] = world.logged.slice(before);
  deq([told!.level, told!.message, rest], ["error", "the store takes no changes", []]);
  match((told!.fields as { error: string }).error, /database or disk is full: check .*doctor`$/);
  disk.full = false;
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 200);
  const { level, message } = world.logged.at(-1)!;
  deq([level, message], ["info", "the store takes changes again"]);
});

Deno.test("stop: a store that takes no changes delays nothing and is reported", async () => {
  const disk = await fullDisk();
  const world = await World.open({ kv: disk.kv });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  await world.call("GET", "/api/v1/agents", { as: key.value });
  disk.full = true;
  world.mcp.close();
  await world.running.stop();
  const { level, message, fields } = world.logged.at(-1)!;
  deq([level, message.split(":")[0]], [
    "error",
    "not everything could be recorded during the stop",
  ]);
  ok(!Object.keys(fields as object).includes("store"), "it is closed all the same");
});

Deno.test("metrics: only the host's, with system:read, in Prometheus' format", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const stranger = await world.signUp();
  const [reader, other] = [
    await world.key(here.owner, ["system:read"]),
    await world.key(stranger, ["system:read"]),
  ];
  await makeHook(world, here.owner, ["command_executed"]);
  await exec(world, here, "uptime");
  await world.settle();
  const metrics = (as?: string) => world.call("GET", "/metrics", { as });
  eq((await metrics()).status, 401);
  for (const as of [stranger.token, other.value, here.key.value]) {
    const answer = await metrics(as);
    deq([answer.status, answer.body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  }
  const { text, headers } = await metrics(reader.value);
  eq(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const value = (sample: string) =>
    Number(text.split("\n").find((line) => line.startsWith(`${sample} `))?.split(" ")[1]);
  eq(value('relay_http_requests_total{route="commands.exec",status="200"}'), 1);
  eq(value('relay_http_requests_total{route="health.metrics",status="403"}'), 3);
  eq(value('relay_http_request_duration_seconds_count{route="commands.exec"}'), 1);
  eq(value('relay_webhook_attempts_total{result="succeeded"}'), 1);
  deq(
    ["relay_agents_online", "relay_commands_under_way", "relay_jobs_due"].map(value),
    [1, 0, 0],
  );
  // A figure that is not there until it is 1 never rises for who looks at its increase.
  for (const outcome of ["denied", "rejected", "expired", "cancelled", "timed_out", "lost"]) {
    eq(value(`relay_commands_total{outcome="${outcome}"}`), 0, outcome);
  }
  eq(value('relay_webhook_attempts_total{result="timed_out"}'), 0);
  ok(!/outcome="(queued|running|pending_approval)"/.test(text));
  match(text, /^relay_event_loop_lag_seconds /m);
  eq(value(`relay_build_info{version="${VERSION}"}`), 1);
  eq(value("process_start_time_seconds"), Date.UTC(2030, 0, 1) / 1000);
  ok(!text.includes(here.agent.id) && !text.includes("uptime "));
});

Deno.test("metrics: count commands, tool calls, approval requests and streams by outcome", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { token } = here.owner;
  const call = (command: string, id = here.agent.id) =>
    tool(world, "run_command", { agent_id: id, command }, { as: token });
  await call("uptime");
  await call("rm -rf /");
  await call("uptime", "agt_missing");
  await call("apt-get remove -y nginx");
  const stream = await StreamClient.open(world, token);
  const { text } = await world.call("GET", "/metrics", { as: token });
  await stream.cut();
  for (
    const sample of [
      'relay_commands_total{outcome="succeeded"} 1',
      'relay_commands_total{outcome="denied"} 1',
      'relay_mcp_tool_calls_total{tool="run_command",result="ok"} 1',
      'relay_mcp_tool_calls_total{tool="run_command",result="COMMAND_BLOCKED"} 1',
      'relay_mcp_tool_calls_total{tool="run_command",result="AGENT_NOT_FOUND"} 1',
      'relay_mcp_tool_calls_total{tool="run_command",result="pending"} 1',
      "relay_approvals_waiting 1",
      "relay_event_streams_open 1",
    ]
  ) ok(text.split("\n").includes(sample), `${sample} in\n${text}`);
});

Deno.test("metrics: undeclared routes share one row, so that guesses cannot fill the memory", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  for (let n = 0; n < 20; n++) await world.call("GET", `/guess/${n}`);
  const { text } = await world.call("GET", "/metrics", { as: token });
  match(text, /^relay_http_requests_total\{route="unknown",status="404"\} 20$/m);
  ok(!text.includes("guess"));
});

Deno.test("housekeeping: a failing task is logged, except in an outage, and stops no other", async () => {
  await using world = await World.open();
  const { deliveries, transfers } = world.app;
  const { sweep } = transfers;
  let reached = false;
  deliveries.sweep = () => {
    throw new Error("broken");
  };
  transfers.sweep = async () => {
    reached = true;
    await sweep.call(transfers);
  };
  await world.running.housekeep();
  ok(reached);
  const { level, fields } = world.logged.at(-1)!;
  const { task, error } = fields as { task: string; error: string };
  deq([level, task], ["error", "deliveries"]);
  match(error, /^Error: broken/);
  deliveries.sweep = () => {
    throw new StoreUnavailableError(AWAY);
  };
  const before = world.logged.length;
  await world.running.housekeep();
  deq(world.logged.slice(before), []);
});
