import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { PACKS } from "../../core/shield/shield.ts";
import { WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import { happen } from "../events/stream_fixtures.ts";
import { Buckets } from "../../core/host/metrics/histogram.ts";
import { RecentMap } from "../../kv/store/recent.ts";
import { auditLagMs } from "../../core/events/events.ts";
import { auditTrees, emptyTree } from "../../kv/records/audit.ts";
import { Bench, item, itemsNamed } from "../support/kv.ts";
import { forbidding, withRepository } from "../policies/git_fixtures.ts";
import { exec, finish, linkAgent, makeHook, runsOf } from "../support/linked_agent.ts";
import { isInstalled, runProgram } from "../support/processes.ts";
import { StreamClient } from "../support/stream.ts";
import { World } from "../support/world.ts";
import { busyScrape, EVERYTHING, Scrape } from "./scrape.ts";

const MINUTE_MS = 60_000;

Deno.test("metrics: names, units and helps follow Prometheus' conventions", async () => {
  const { families } = await busyScrape();
  const names = families.map(({ name }) => name);
  eq(new Set(names).size, names.length);
  for (const { name, help, type, lines } of families) {
    ok(/^(relay|process)(_[a-z]+)+$/.test(name), name);
    ok(/^[A-Z].*[.\w]$/.test(help), `${name}: ${help}`);
    eq(name.endsWith("_total"), type === "counter", `${name} is a ${type}`);
    ok(!/_(ms|milliseconds|minutes|hours|kb|mb|percent|ratio_total|count|sum|bucket)$/.test(name));
    if (/_(duration|wait|latency|lag|age)(_|$)/.test(name)) ok(name.endsWith("_seconds"), name);
    if (type === "histogram") ok(name.endsWith("_seconds"), name);
    const own = type === "histogram"
      ? ["_bucket", "_sum", "_count"].map((part) => name + part)
      : [name];
    const seen = lines.map((line) => `${line.name} ${JSON.stringify(line.labels)}`);
    eq(new Set(seen).size, seen.length, `${name} shows a sample twice`);
    for (const line of lines) {
      ok(own.includes(line.name), line.name);
      ok(Number.isFinite(line.value), `${line.name} is ${line.value}`);
      ok(Object.keys(line.labels).every((label) => /^[a-z]+$/.test(label)), line.name);
    }
  }
});

Deno.test("metrics: buckets of a histogram are cumulative and end with all", async () => {
  const { families } = await busyScrape();
  const histograms = families.filter(({ type }) => type === "histogram");
  ok(histograms.length >= 6);
  for (const { name, lines } of histograms) {
    const series = Map.groupBy(lines, ({ labels }) => labels.route ?? "");
    for (const [of, samples] of series) {
      const buckets = samples.filter((line) => line.name === `${name}_bucket`);
      const counts = buckets.map(({ value }) => value);
      deq(counts, counts.toSorted((a, b) => a - b), `${name} ${of}`);
      const bounds = buckets.map(({ labels }) => Number(labels.le!.replace("+Inf", "Infinity")));
      deq(bounds, bounds.toSorted((a, b) => a - b), `${name} ${of}`);
      eq(bounds.at(-1), Infinity);
      eq(counts.at(-1), samples.find((line) => line.name === `${name}_count`)!.value);
    }
  }
});

Deno.test({
  name: "metrics: promtool finds nothing to object to (needs promtool)",
  ignore: !isInstalled("promtool"),
  async fn() {
    const { success, text } = await runProgram(
      "promtool",
      ["check", "metrics"],
      (await busyScrape()).text,
    );
    deq([success, text], [true, ""]);
  },
});

Deno.test("docs/metrics.md: names exactly the metrics that exist", async () => {
  const { families } = await busyScrape();
  const page = readFileSync(new URL("../../docs/metrics.md", import.meta.url), "utf8");
  const table = page.split("\n").filter((line) => /^\| `(relay|process)_/.test(line)).join("\n");
  const named = [...table.matchAll(/`((?:relay|process)_\w+)`/g)].map(([, name]) => name!);
  deq(named.sort(), families.map(({ name }) => name).sort());
});

Deno.test("Buckets: a duration counts in the first bucket whose bound is not below it", () => {
  const buckets = new Buckets([0.1, 1]);
  for (const seconds of [0, 0.1, 0.125, 1, 1.25]) buckets.add(seconds);
  deq(buckets.samples("x_seconds", { of: "a" }), [
    { metricName: "x_seconds_bucket", labels: { le: "0.1", of: "a" }, value: 2 },
    { metricName: "x_seconds_bucket", labels: { le: "1", of: "a" }, value: 4 },
    { metricName: "x_seconds_bucket", labels: { le: "+Inf", of: "a" }, value: 5 },
    { metricName: "x_seconds_sum", labels: { of: "a" }, value: 2.475 },
    { metricName: "x_seconds_count", labels: { of: "a" }, value: 5 },
  ]);
});

Deno.test("metrics: measure commands, decisions, deliveries, commits and numbering", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { token } = here.owner;
  const approver = await world.join(here.owner, ["operator"]);
  let refusals = 1;
  world.network.reply = () => refusals-- > 0 ? 500 : 204;
  await makeHook(world, here.owner, ["command_executed"]);
  here.agent.script = () => "silent";
  const running = exec(world, here, "sleep 7");
  await world.settle();
  finish(here.agent, runsOf(here.agent)[0]!.command_id, { duration_ms: 7_000 });
  await running;
  const waiting = await exec(world, here, "systemctl stop nginx");
  eq(waiting.status, 202, waiting.text);
  await world.advance(45_000);
  const path = `/api/shield/reject/${waiting.body.approval_id}`;
  eq((await world.call("POST", path, { as: approver.token, body: {} })).status, 200);
  await world.settle();
  const scrape = await Scrape.of(world, token);
  deq(scrape.durations("relay_command_duration_seconds"), [1, 7]);
  eq(scrape.value('relay_command_duration_seconds_bucket{le="5"}'), 0);
  eq(scrape.value('relay_command_duration_seconds_bucket{le="10"}'), 1);
  deq(scrape.durations("relay_approval_wait_seconds"), [1, 45]);
  // The first attempt failed, and the second one follows after 30 s.
  const [deliveries, latency] = scrape.durations("relay_webhook_delivery_latency_seconds");
  eq(deliveries, 1);
  ok(latency >= 30 && latency < 36, `${latency}`);
  const [commits] = scrape.durations("relay_store_commit_duration_seconds");
  const [batches] = scrape.durations("relay_event_numbering_lag_seconds");
  ok(commits > 5 && batches > 2, `${commits}, ${batches}`);
});

Deno.test("metrics: commands, decisions and denials of the test space do not count", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const before = await Scrape.of(world, here.owner.token);
  const { metrics } = world.app;
  const tenant = { org: here.owner.org, space: "test" } as const;
  metrics.written(tenant, { type: "command_executed", details: { duration_ms: 1 } });
  metrics.decided(tenant, 1);
  const after = await Scrape.of(world, here.owner.token);
  for (const name of ["relay_command_duration_seconds", "relay_approval_wait_seconds"]) {
    deq(after.durations(name), before.durations(name), name);
  }
});

Deno.test("metrics: denials count by the pack of the rule, those by policies together", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const { token } = here.owner;
  const git = await withRepository(world, { policy_path: "policies" }, here.owner);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  eq((await git.apply()).status, 200);
  for (const command of ["rm -rf /", "nmap 10.0.0.1", "nmap 10.0.0.2"]) {
    eq((await exec(world, here, command)).status, 403, command);
  }
  const scrape = await Scrape.of(world, token);
  const families = scrape.families.find(({ name }) => name === "relay_denials_total")!;
  deq(
    families.lines.filter(({ value }) => value > 0).map((
      { labels, value },
    ) => [labels.family, value])
      .sort(),
    [["filesystem", 1], ["policy", 2]],
  );
  deq(
    families.lines.map(({ labels }) => labels.family!).sort(),
    [...PACKS, "other", "policy"].sort(),
    "each is zero before the first denial",
  );
});

Deno.test("metrics: requests over a limit count by limit, and failed sign-ins by their kind", async () => {
  await using world = await World.open({
    config: { limits: { live: { requests_per_minute: 2 } } },
  });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  for (let n = 0; n < 5; n++) await world.call("GET", "/api/v1/agents", { as: key.value });
  for (let n = 0; n < 12; n++) {
    await world.call("POST", "/api/v1/login", {
      body: { email: owner.email, password: `no ${n}` },
    });
  }
  await world.call("POST", "/api/devices/pair", { body: { device_name: "d", pairing_code: "x" } });
  const scrape = await Scrape.of(world, owner.token);
  eq(scrape.value('relay_rate_limited_requests_total{limit="key"}'), 3);
  eq(scrape.value('relay_rate_limited_requests_total{limit="login"}'), 2);
  eq(scrape.value('relay_sign_in_failures_total{kind="login"}'), 10);
  eq(scrape.value('relay_sign_in_failures_total{kind="pairing"}'), 1);
});

Deno.test("metrics: syncs of repositories count by result", async () => {
  await using world = await World.open();
  const git = await withRepository(world, { sync_seconds: 60, policy_path: "policies" });
  const results = async () => {
    const scrape = await Scrape.of(world, git.owner.token);
    return ["failed", "succeeded"].map((result) =>
      scrape.value(`relay_git_syncs_total{result="${result}"}`)
    );
  };
  deq(await results(), [1, 0], "the repository has no branch yet");
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  await world.advance(3 * MINUTE_MS);
  await world.settle();
  const [failed, succeeded] = await results();
  deq([failed, succeeded! >= 1], [1, true]);
});

Deno.test("metrics: a stream that is cut because it is not read counts by its reason", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { token } = owner;
  const stream = await StreamClient.open(world, token);
  await stream.next();
  const ended = async () =>
    (await Scrape.of(world, token)).value('relay_event_streams_ended_total{reason="too_slow"}');
  eq(await ended(), 0);
  const details = { ...WEBHOOK_EVENTS.agent_created.example, hostname: "x".repeat(10_000) };
  for (let n = 0; n < 200; n++) await happen(world, owner, "agent_created", `agt_${n}`, details);
  // It is ended at 1 MiB, or at the second heartbeat without a read.
  await world.advance(60_000);
  eq(await ended(), 1);
  await stream.cut();
});

Deno.test("metrics: the age of the oldest request for approval grows, and is 0 without one", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const approver = await world.join(here.owner, ["operator"]);
  const age = async () =>
    (await Scrape.of(world, here.owner.token)).value("relay_approval_oldest_age_seconds");
  eq(await age(), 0);
  const first = await exec(world, here, "systemctl stop nginx");
  await world.advance(20_000);
  await exec(world, here, "systemctl stop apache2");
  await world.advance(10_000);
  eq(await age(), 30);
  const path = `/api/shield/reject/${first.body.approval_id}`;
  eq((await world.call("POST", path, { as: approver.token, body: {} })).status, 200);
  eq(await age(), 10);
});

Deno.test("metrics: the audit lag is the age of the oldest event that the tree lacks", async () => {
  const bench = new Bench(await Deno.openKv(":memory:"), "lag", { sole: true, hasQueue: false });
  const { store, log, clock } = bench;
  const lag = () => auditLagMs(store, log, clock.now());
  eq(await lag(), 0);
  // A follower that does not move: its tenants stay marked.
  log.follow({ name: "audit", wants: () => true });
  const append = async (org: string) => {
    const row = `{"details":{},"timestamp":"${new Date(clock.now()).toISOString()}"}`;
    await store.append({ org, space: "live" }, "note", row);
    await log.flush();
  };
  await append("org_a");
  clock.advance(5_000);
  await append("org_b");
  clock.advance(1_000);
  eq(await lag(), 6_000);
  const tenant = { org: "org_a", space: "live" } as const;
  await store.transact((tx) => tx.put(auditTrees, tenant, { ...emptyTree(tenant), size: 1 }));
  eq(await lag(), 1_000, "the tree of the first log has its event");
  await store.close();
});

Deno.test("metrics: show the certificate's end, the store's size, and the memory", async () => {
  const file = await Deno.makeTempFile();
  await Deno.writeFile(file, new Uint8Array(5_000));
  await Deno.writeFile(`${file}-wal`, new Uint8Array(700));
  await using world = await World.open({ settings: { ...EVERYTHING.settings, kv: file } });
  const { token } = await world.signUp();
  const scrape = await Scrape.of(world, token);
  eq(scrape.value("relay_store_size_bytes"), 5_700);
  ok(scrape.value("process_resident_memory_bytes") > 10_000_000);
  const ends = scrape.value("relay_certificate_expiry_timestamp_seconds");
  ok(ends > Date.UTC(2026, 0, 1) / 1000 && Number.isInteger(ends), `${ends}`);
  await Deno.remove(file);
  await Deno.remove(`${file}-wal`);
});

Deno.test("metrics: records that the read cache drops count by their collection", async () => {
  const bench = new Bench(await Deno.openKv(":memory:"), "cache", { sole: true, hasQueue: false });
  const { store } = bench;
  const few = itemsNamed("few", 4);
  const tenant = { org: "org_a", space: "live" } as const;
  deq([...store.cacheEvictions()], []);
  for (let n = 0; n < 6; n++) {
    await store.transact((tx) => tx.insert(few, tenant, item(`${n}`)));
    await store.get(few, tenant, `${n}`);
  }
  const [[name, dropped], ...others] = [...store.cacheEvictions()] as [[string, number]];
  deq([name, dropped >= 2, others], ["few", true, []]);
  await store.close();
});

Deno.test("metrics: a store in memory and a relay without a certificate show no figures of them", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { text } = await Scrape.of(world, token);
  ok(!/store_size|certificate|last_backup/.test(text));
});

Deno.test("RecentMap: counts exactly the entries that were dropped to make room", () => {
  const map = new RecentMap<number>(4);
  for (let n = 0; n < 4; n++) map.set(`${n}`, n);
  eq(map.evicted, 0);
  // Reading one of the old generation keeps it, and makes room by dropping the other.
  eq(map.get("0"), 0);
  eq(map.evicted, 1);
  deq(["0", "1", "2", "3"].map((key) => map.get(key) ?? null), [0, null, 2, 3]);
});
