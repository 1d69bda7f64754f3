import { shieldInForce } from "../../../core/agents/guard/in_force.ts";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { RULES } from "../../../core/shield/shield.ts";
import { shieldSettings } from "../../../kv/records/shield.ts";
import { putRaw } from "../../support/raw_rows.ts";
import { withRepository } from "../../policies/git_fixtures.ts";
import { type Account, World } from "../../support/world.ts";
import { exec, linkAgent } from "../../support/linked_agent.ts";

const PATH = "/api/v1/patterns";

interface Shown {
  readonly pack: string;
  readonly enabled: boolean;
  readonly watched: boolean;
  readonly rules: { id: string; enabled: boolean; fixed: boolean }[];
}

async function list(world: World, { token: as }: Account): Promise<Shown[]> {
  return (await world.call("GET", PATH, { as })).body.patterns;
}

const change = (world: World, { token: as }: Account, body: unknown) =>
  world.call("PATCH", PATH, { as, body });

async function verdicts(world: World, { token: as }: Account, body: Record<string, unknown>) {
  const answer = await world.call("POST", "/api/shield/evaluate", { as, body });
  eq(answer.status, 200, answer.text);
  return answer.body.results.map(({ verdict }: { verdict: string }) => verdict);
}

Deno.test("patterns: every rule is listed once in its pack, and counts", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const packs = await list(world, owner);
  const rules = packs.flatMap((pack) => pack.rules);
  deq(rules.map(({ id }) => id).sort(), RULES.map(({ id }) => id).sort());
  ok(packs.every(({ enabled }) => enabled) && rules.every(({ enabled }) => enabled));
  deq(rules.filter(({ fixed }) => fixed).map(({ id }) => id), [
    "structure.unparseable",
    "structure.over_budget",
  ]);
  const { body } = await world.call("GET", `${PATH}?limit=2&offset=1`, { as: owner.token });
  deq(body.patterns.map(({ pack }: Shown) => pack), packs.slice(1, 3).map(({ pack }) => pack));
  eq(body.pagination.total, packs.length);
});

Deno.test("patterns: a switched-off pack or rule does not count until it is switched on", async () => {
  await using world = await World.open();
  const linked = await linkAgent(world);
  const { owner } = linked;
  const commands = ["kubectl delete namespace production", "systemctl stop sshd", "uptime"];
  const before = await verdicts(world, owner, { commands });
  ok(before[0] !== "allow" && before[1] !== "allow");
  const packs = { kubernetes: false };
  const off = await change(world, owner, { packs });
  eq(off.status, 200, off.text);
  deq(await verdicts(world, owner, { commands }), ["allow", before[1], "allow"]);
  // A candidate replaces the policy, not the switches.
  deq(await verdicts(world, owner, { commands, policy: null }), ["allow", before[1], "allow"]);
  eq((await exec(world, linked, commands[0]!)).status, 200);
  const { body: { results: [found] } } = await world.call("POST", "/api/shield/evaluate", {
    as: owner.token,
    body: { commands: [commands[1]] },
  });
  const rules = Object.fromEntries(found.rule_ids.map((id: string) => [id, false]));
  eq((await change(world, owner, { rules })).status, 200);
  deq(await verdicts(world, owner, { commands }), ["allow", "allow", "allow"]);
  const shown = await list(world, owner);
  deq(shown.filter(({ enabled }) => !enabled).map(({ pack }) => pack), ["kubernetes"]);
  const on = Object.fromEntries(found.rule_ids.map((id: string) => [id, true]));
  const back = await change(world, owner, { packs: { kubernetes: true }, rules: on });
  deq([back.body.disabled_packs, back.body.disabled_rules], [[], []]);
  deq(await verdicts(world, owner, { commands }), before);
  deq((await world.trail(owner)).filter((type) => type === "patterns_changed").length, 3);
});

Deno.test("patterns: rules that the organization's own policy switches off do not count", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const policy = { rules: [], disabled_packs: ["git"], disabled_rules: ["services.stop"] };
  const settings = { as: owner.token, body: { policy } };
  eq((await world.call("PATCH", "/api/shield/settings", settings)).status, 200);
  const rules = Object.fromEntries(RULES.map(({ id }) => [id, true])); // as a client writes back
  const { status, body } = await change(world, owner, {
    packs: { cloud: false, git: true },
    rules,
  });
  deq([status, body.disabled_packs, body.disabled_rules], [200, ["cloud"], []]);
  deq(body.patterns, await list(world, owner));
  const off = (body.patterns as Shown[]).filter(({ enabled }) => !enabled);
  deq(off.map(({ pack }) => pack).sort(), ["cloud", "git"]);
  const silent = (body.patterns as Shown[]).flatMap(({ rules }) => rules)
    .filter(({ enabled }) => !enabled).map(({ id }) => id);
  const isOff = ({ id, pack }: { id: string; pack: string }) =>
    pack === "git" || pack === "cloud" || id === "services.stop";
  deq(silent.sort(), RULES.filter(isOff).map(({ id }) => id).sort());
});

const HELD = "kubectl apply -f k8s/";

Deno.test("patterns: rules that only watch are named and decide nothing, and a replay shows what they would hold", async () => {
  await using world = await World.open();
  const linked = await linkAgent(world);
  const { owner } = linked;
  const evaluate = async (body: Record<string, unknown>) =>
    (await world.call("POST", "/api/shield/evaluate", { as: owner.token, body })).body;
  const judged = async () => (await evaluate({ commands: [HELD] })).results[0];
  const held = await judged();
  deq([held.verdict, held.watched], ["approve", undefined]);

  const { body: watching } = await change(world, owner, { packs: { production: "watch" } });
  deq([watching.watched_packs, watching.disabled_packs], [["production"], []]);
  const passed = await judged();
  deq([passed.verdict, passed.rule_ids, passed.watched], ["allow", [], held.rule_ids]);
  const ran = await exec(world, linked, HELD);
  deq([ran.status, ran.body.shield_result.watched], [200, held.rule_ids]);
  eq((await exec(world, linked, "uptime")).status, 200);

  const replay = await evaluate({ replay: 10, patterns: { packs: { production: true } } });
  deq(replay.counts, { allow: 1, approve: 1, deny: 0 });
  deq(replay.changed.map(({ command, before }: Record<string, string>) => [command, before]), [
    [HELD, "allow"],
  ]);
  eq((await evaluate({ replay: 10 })).error.details.issues[0].path, "body.policy");

  const rules = Object.fromEntries(held.rule_ids.map((id: string) => [id, "watch"]));
  await change(world, owner, { packs: { production: true }, rules });
  deq([(await judged()).verdict, (await judged()).watched], ["allow", held.rule_ids]);
  const fixed = await change(world, owner, { rules: { "structure.unparseable": "watch" } });
  deq([fixed.status, fixed.body.error.details.issues[0].path], [
    400,
    "body.rules.structure.unparseable",
  ]);
  const tried = await world.call("POST", "/api/shield/evaluate", {
    as: owner.token,
    body: { commands: ["ls"], patterns: { rules: { "structure.unparseable": "watch" } } },
  });
  eq(tried.body.error.details.issues[0].path, "body.patterns.rules.structure.unparseable");
  const on = Object.fromEntries(held.rule_ids.map((id: string) => [id, true]));
  eq((await change(world, owner, { rules: on })).status, 200);
  deq(await judged(), held);
});

Deno.test("patterns: settings of an earlier version let the rules of production watch", async () => {
  await using world = await World.open({ sole: false });
  const owner = await world.signUp();
  const tenant = { org: owner.org, space: "live" } as const;
  const stored = (await world.app.store.get(shieldSettings, tenant, "shield"))!;
  const { watched_packs: _, watched_rules: __, ...patterns } = stored.patterns;
  await putRaw(world.kv, shieldSettings, tenant, { ...stored, patterns } as never);
  const [production] = (await list(world, owner)).filter(({ pack }) => pack === "production");
  deq([production!.watched, production!.enabled], [true, true]);
  deq(await verdicts(world, owner, { commands: [HELD] }), ["allow"]);
});

Deno.test("patterns: a tenant without settings lets the rules of production watch", async () => {
  await using world = await World.open();
  const tenant = { org: "org_without_settings", space: "live" } as const;
  const { own } = await shieldInForce(world.app.store, tenant);
  deq(own.patterns.watched_packs, ["production"]);
});

Deno.test("patterns: with everything switched off, unreadable commands are still not allowed", async () => {
  await using world = await World.open();
  const linked = await linkAgent(world);
  const { owner } = linked;
  const all = await list(world, owner);
  const packs = Object.fromEntries(all.map(({ pack }) => [pack, false]));
  const off = await change(world, owner, { packs });
  eq(off.status, 200, off.text);
  const tangled = "$(".repeat(2_000);
  deq(await verdicts(world, owner, { commands: ["rm -rf /", 'echo "open', tangled] }), [
    "allow",
    "approve",
    "approve",
  ]);
  eq((await exec(world, linked, 'echo "open')).status, 202);
  const fixed = off.body.patterns.flatMap(({ rules }: Shown) => rules)
    .filter(({ enabled }: { enabled: boolean }) => enabled);
  deq(fixed.map(({ id }: { id: string }) => id), [
    "structure.unparseable",
    "structure.over_budget",
  ]);
  // The canary lists what is switched off, and still finds broken layers.
  const canary = await world.call("POST", "/api/shield/canary", { as: owner.token, body: {} });
  eq(canary.status, 200, canary.text);
  const layers = canary.body.layers as { layer: string; switched_off: string[] }[];
  ok(layers.find(({ layer }) => layer === "patterns")!.switched_off.includes("rm -rf /"));
});

Deno.test("patterns: invalid switches are refused with their path, and nothing changes", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { body: { policy_version } } = await world.call("GET", PATH, { as: owner.token });
  const bad: [unknown, string][] = [
    [{ rules: { "structure.unparseable": false } }, "body.rules.structure.unparseable"],
    [{ rules: { "no.rule": false } }, "body.rules.no.rule"],
    [{ packs: { nothing: false } }, "body.packs"],
    [{ packs: { git: "off" } }, "body.packs.git"],
  ];
  for (const [body, path] of bad) {
    const { status, body: { error } } = await change(world, owner, body);
    deq([status, error.code, error.details.issues[0].path], [400, "VALIDATION_FAILED", path]);
  }
  eq((await world.call("GET", PATH, { as: owner.token })).body.policy_version, policy_version);
});

Deno.test("patterns: a switch makes a new version, and requests under the earlier version lapse", async () => {
  await using world = await World.open();
  const linked = await linkAgent(world);
  const { owner } = linked;
  const waits = await exec(world, linked, "systemctl stop nginx");
  eq(waits.status, 202);
  const { body: { policy_version: before } } = await world.call("GET", PATH, { as: owner.token });
  const { body: { policy_version } } = await change(world, owner, { packs: { git: false } });
  ok(policy_version !== before);
  await world.settle();
  const path = `/api/shield/approvals/${waits.body.approval_id}`;
  const { body: { status } } = await world.call("GET", path, { as: owner.token });
  eq(status, "expired");
  // The order of the switches does not change the version.
  await change(world, owner, { packs: { cloud: false } });
  const both = (await change(world, owner, {})).body.policy_version;
  await change(world, owner, { packs: { git: true, cloud: true } });
  eq((await world.call("GET", PATH, { as: owner.token })).body.policy_version, before);
  eq(
    (await change(world, owner, { packs: { cloud: false, git: false } })).body.policy_version,
    both,
  );
});

Deno.test("patterns: no simultaneous switch is lost", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const packs = (await list(world, owner)).map(({ pack }) => pack);
  const answers = await Promise.all(
    packs.map((pack) => change(world, owner, { packs: { [pack]: false } })),
  );
  deq(answers.map(({ status }) => status), packs.map(() => 200));
  ok((await list(world, owner)).every(({ enabled }) => !enabled));
});

Deno.test("patterns: reading and writing need their own scopes, and each organization has its own switches", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const reader = await world.key(owner, ["patterns:read"]);
  const writer = await world.key(owner, ["patterns:write"]);
  const body = { packs: { git: false } };
  eq((await world.call("GET", PATH, { as: reader.value })).status, 200);
  eq((await world.call("PATCH", PATH, { as: reader.value, body })).status, 403);
  eq((await world.call("GET", PATH, { as: writer.value })).status, 403);
  eq((await world.call("PATCH", PATH, { as: writer.value, body })).status, 200);
  const other = await world.signUp();
  ok((await list(world, other)).every(({ enabled }) => enabled));
});

Deno.test("patterns: a policy from Git switches packs off for its agents, and a replay shows it", async () => {
  await using world = await World.open();
  const { owner, host, apply } = await withRepository(world);
  const command = "kubectl delete namespace production";
  await host.commit({
    "policies/a.yaml": "agents: { labels: { env: lab } }\ndisabled_packs: [kubernetes]\n" +
      `tests:\n  - { command: ${command}, expect: allow }\n`,
  });
  const applied = await apply();
  eq(applied.status, 200, applied.text);
  const on = (labels: Record<string, string>) =>
    verdicts(world, owner, { commands: [command, 'echo "open'], labels });
  deq(await on({ env: "lab" }), ["allow", "approve"]);
  ok((await on({}))[0] !== "allow");
});
