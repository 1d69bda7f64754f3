import { hash } from "node:crypto";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { canonicalJson } from "../../core/codec/canonical.ts";
import { forbidding, type GitWorld, withRepository } from "./git_fixtures.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type ConfiguredAgent, withConfigured } from "../support/configured_agent.ts";
import { World } from "../support/world.ts";
import { AGENT_RIGHTS, eventsOf } from "../support/linked_agent.ts";

interface Item {
  readonly item: string;
  readonly status: string;
  readonly applied: { version: string; digest: string } | null;
  readonly reported: { digest: string } | null;
  readonly since: string | null;
  readonly by: { event_type: string; actor: string; event_id: string | null } | null;
}

interface Setting extends GitWorld {
  readonly world: World;
  readonly key: { readonly id: string; readonly value: string };
  readonly agent: ConfiguredAgent;
  drift(): Promise<{ drifted: boolean; reached: boolean; reported_at: string; items: Item[] }>;
  /** The agent says that it lives, and is asked what it holds. */
  beat(): Promise<void>;
  events(): Promise<[string, unknown, unknown][]>;
}

/** A world with policies from Git and an agent that holds them. */
async function withDrift(use: (setting: Setting) => Promise<void>): Promise<void> {
  await using world = await World.open();
  const git = await withRepository(world);
  const key = await world.key(git.owner, [...AGENT_RIGHTS, "policy:read"]);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  eq((await git.apply()).status, 200);
  await withConfigured(world, key.value, async (agent) => {
    await world.settle();
    const { id } = agent.link;
    await use({
      ...git,
      world,
      key,
      agent,
      async drift() {
        const answer = await git.get(`drift/${id}`);
        eq(answer.status, 200, answer.text);
        return answer.body;
      },
      async beat() {
        agent.link.send({ type: "heartbeat", status: "ok" });
        await world.settle();
      },
      async events() {
        const all = await eventsOf(world, git.owner, id);
        return all.filter(({ event_type }) => event_type.startsWith("drift_"))
          .map(({ event_type, details }) => [event_type, details["item"], details["status"]]);
      },
    });
  });
}

const statuses = (items: readonly Item[]) =>
  Object.fromEntries(items.map(({ item, status }) => [item, status]));

Deno.test("drift: an applied policy is in sync and has the same digest on both sides", async () => {
  await withDrift(async ({ drift, events }) => {
    const shown = await drift();
    deq([shown.drifted, shown.reached], [false, true]);
    deq(statuses(shown.items), { "policy:a": "in_sync" });
    const [item] = shown.items;
    eq(item!.applied!.version, "1");
    eq(item!.reported!.digest, item!.applied!.digest);
    deq([item!.since, item!.by, await events()], [null, null, []]);
  });
});

Deno.test("drift: a heartbeat detects a changed, missing or unexpected policy, with one event at its start and one at its end", async () => {
  await withDrift(async ({ agent, world, drift, beat, events }) => {
    const applied = Deno.readTextFileSync(agent.policyFile);
    const [policy] = JSON.parse(applied) as Record<string, unknown>[];
    await beat();
    deq(await events(), []);
    const edits: [string, unknown][] = [
      ["changed", [{ ...policy, rules: [] }]],
      ["missing", []],
      ["unexpected", [policy, { name: "mine", rules: [] }]],
    ];
    for (const [status, edit] of edits) {
      Deno.writeTextFileSync(agent.policyFile, JSON.stringify(edit));
      world.clock.advance(1000);
      const since = new Date(world.clock.nowMs).toISOString();
      await beat();
      world.clock.advance(1000);
      await beat();
      const item = status === "unexpected" ? "policy:mine" : "policy:a";
      const found = (await drift()).items.find((one) => one.item === item)!;
      deq([found.status, found.since, found.by], [status, since, null]);
      deq([found.applied === null, found.reported === null], [
        status === "unexpected",
        status === "missing",
      ]);
      deq((await events()).at(-1), ["drift_detected", item, status]);
      Deno.writeTextFileSync(agent.policyFile, applied);
      await beat();
      deq((await events()).at(-1), ["drift_resolved", item, "in_sync"]);
      eq((await drift()).drifted, false);
    }
    eq((await events()).length, 2 * edits.length);
  });
});

Deno.test("drift: a request inspects the agent at once, and the agent reports an edited policy file unasked", async () => {
  await withDrift(async ({ agent, world, drift, events }) => {
    const applied = Deno.readTextFileSync(agent.policyFile);
    Deno.writeTextFileSync(agent.policyFile, "not JSON");
    deq(statuses((await drift()).items), { "policy:a": "missing" });
    deq(await events(), [["drift_detected", "policy:a", "missing"]]);
    Deno.writeTextFileSync(agent.policyFile, applied);
    await world.advance(5_000);
    deq((await events()).at(-1), ["drift_resolved", "policy:a", "in_sync"]);
  });
});

Deno.test("drift: names the audited command that speaks of the policy file, and no other", async () => {
  await withDrift(async ({ agent, world, owner, drift, beat }) => {
    const run = async (command: string) => {
      const query = new URLSearchParams({ command });
      const path = `/api/exec/${agent.link.id}?${query}`;
      eq((await world.call("GET", path, { as: owner.token })).status, 200);
    };
    await run("cat policies.json");
    await run("uptime");
    Deno.writeTextFileSync(agent.policyFile, "[]");
    await beat();
    const [{ by }] = (await drift()).items as [Item];
    deq([by?.event_type, by?.actor], ["command_executed", owner.userId]);
    const { body: { events } } = await world.call("GET", "/api/audit?limit=200", {
      as: owner.token,
    });
    const row = events.find((one: { event_id: string }) => one.event_id === by?.event_id);
    eq(row.details.command, "cat policies.json");
  });
});

Deno.test("drift: a policy that the agent has not confirmed is pending, names who applied it and is no drift", async () => {
  await using world = await World.open();
  const { owner, host, apply, get } = await withRepository(world);
  const key = await world.key(owner, AGENT_RIGHTS);
  await withConfigured(world, key.value, async ({ link, policyFile }) => {
    await host.commit({ "policies/a.yaml": forbidding("nmap") });
    eq((await apply()).status, 200);
    await world.settle();
    Deno.writeTextFileSync(policyFile, "[]");
    link.send({ type: "heartbeat", status: "ok" });
    await world.settle();
    const { body } = await get(`drift/${link.id}`);
    eq(body.drifted, false);
    const [{ status, by }] = body.items;
    deq([status, by.event_type, by.actor], ["pending", "policy_updated", owner.userId]);
    const events = await eventsOf(world, owner, link.id);
    deq(events.filter(({ event_type }) => event_type.startsWith("drift_")), []);
  }, { confirms: false });
});

Deno.test("drift: the last report of an unlinked agent is shown with its time, marked as not reached", async () => {
  await withDrift(async ({ agent, world, drift, beat }) => {
    await beat();
    const saidAt = new Date(world.clock.nowMs).toISOString();
    agent.link.drop();
    Deno.writeTextFileSync(agent.policyFile, "[]");
    await world.advance(60_000);
    const shown = await drift();
    deq([shown.reached, shown.drifted, shown.reported_at], [false, false, saidAt]);
    deq(statuses(shown.items), { "policy:a": "in_sync" });
    // With its next link it says what it holds, and is told what it should.
    const again = await agent.again();
    await world.settle();
    deq(statuses((await drift()).items), { "policy:a": "in_sync" });
    eq(JSON.parse(Deno.readTextFileSync(again.policyFile)).length, 1);
  });
});

Deno.test("drift: an agent that never reported is unknown, and another organization gets 404", async () => {
  await using world = await World.open();
  const { owner, host, apply, get } = await withRepository(world);
  const key = await world.key(owner, AGENT_RIGHTS);
  const agent = await ScriptedAgent.connect(world, key.value);
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  await apply();
  await world.settle();
  // It never answers: what is known by then is told.
  const asked = get(`drift/${agent.id}`);
  while (!agent.received.some(({ type }) => type === "inspect")) await world.settle();
  await world.advance(5_000);
  const { body } = await asked;
  deq([body.drifted, body.reached, body.items[0].status], [false, false, "unknown"]);
  const other = await world.signUp();
  for (const what of ["drift", "guard"]) {
    const answer = await world.call("GET", `/api/v1/gitops/${what}/${agent.id}`, {
      as: other.token,
    });
    deq([answer.status, answer.body.error.code], [404, "AGENT_NOT_FOUND"]);
  }
});

Deno.test("guard: shows mode, policies applied, confirmed and in the file, the last canary and refused signatures", async () => {
  await withDrift(async ({ agent, world, owner, get, beat }) => {
    const guard = async () => (await get(`guard/${agent.link.id}`)).body;
    const { body: { policy_version } } = await world.call(
      "GET",
      `/api/v1/agents/${agent.link.id}`,
      { as: owner.token },
    );
    const first = await guard();
    deq(first.policy, {
      version: first.policy.version,
      applied: policy_version,
      confirmed: policy_version,
      reported: policy_version,
      in_sync: true,
    });
    deq([first.status, first.mode, first.last_canary], ["online", "enforce", null]);
    deq([first.verdict_check.state, first.verdict_check.refused], ["verifying", 0]);
    ok(/^[A-Za-z0-9_-]{43}$/.test(first.verdict_check.verdict_key));

    const change = { agent_modes: { [agent.link.id]: "observe" } };
    await world.call("PATCH", "/api/shield/settings", { as: owner.token, body: change });
    const body = { agent_id: agent.link.id };
    const canary = await world.call("POST", "/api/shield/canary", { as: owner.token, body });
    eq(canary.status, 200, canary.text);
    Object.assign(agent.counts, { refused: 1, last_refusal: "it is not signed" });
    Deno.writeTextFileSync(agent.policyFile, "[]");
    await beat();
    const then = await guard();
    eq(then.mode, "observe");
    deq([then.policy.confirmed, then.policy.reported], [policy_version, null]);
    deq(then.last_canary, {
      at: new Date(world.clock.nowMs).toISOString(),
      by: owner.userId,
      status: "passed",
      failed: [],
      through_agent: true,
    });
    deq([then.verdict_check.state, then.verdict_check.last_refusal], [
      "refusing",
      "it is not signed",
    ]);
  });
});

Deno.test("drift: events keep the order of the agent's reports while the search for a cause is slow", async () => {
  await using world = await World.open();
  const { owner, host, apply, get } = await withRepository(world);
  const key = await world.key(owner, AGENT_RIGHTS);
  const agent = await ScriptedAgent.connect(world, key.value);
  await host.commit({ "policies/a.yaml": forbidding("nmap") });
  await apply();
  await world.settle();
  const told = agent.received.findLast(({ type }) => type === "policy");
  const { policies, policy_version } = told as unknown as {
    policies: { name: string }[];
    policy_version: string;
  };
  const tell = (digest: string) =>
    agent.sendRaw(JSON.stringify({
      type: "state",
      serial: 0,
      policy_version,
      policies: [{ name: "a", sha256: digest }],
      problem: null,
      roots: [],
      files: null,
      verdicts: { verified: 0, refused: 0, last_refusal: null },
    }));
  tell(hash("sha256", "edited"));
  tell(hash("sha256", canonicalJson(policies[0])));
  await world.settle();
  const types = (await eventsOf(world, owner, agent.id)).map(({ event_type }) => event_type);
  deq(types.filter((type) => type.startsWith("drift_")), ["drift_detected", "drift_resolved"]);
  const path = `drift/${agent.id}`;
  const asked = get(path);
  await world.advance(5_000);
  deq(statuses((await asked).body.items), { "policy:a": "in_sync" });
});
