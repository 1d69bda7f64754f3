import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { type Pinned, pinnedVerdictKey, pinVerdictKey } from "../../core/cli/agent/link/pin.ts";
import { handoversFrom, verdictKeyOf } from "../../core/agents/links/verdict_keys.ts";
import { MAX_HANDOVERS, type RelayFrame, type WelcomeFrame } from "../../core/protocol/protocol.ts";
import { rotateKeys } from "../../core/host/secrets/rotate_keys.ts";
import { makeSealer } from "../../core/codec/seal.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import { agents } from "../../kv/records/agent.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import { shared } from "../support/kv.ts";
import { World } from "../support/world.ts";
import {
  AGENT_RIGHTS,
  eventsOf,
  exec,
  finish,
  linkAgent,
  runsOf,
} from "../support/linked_agent.ts";
import { rawRows } from "../support/raw_rows.ts";

/** An agent that pins the verdict key over all its links, as Relay's agent does. */
class Pinning {
  readonly identity = newIdentity();
  readonly pins: (Pinned | null)[] = [];
  readonly welcomes: WelcomeFrame[] = [];
  readonly #kept = new Map<string, string>();
  readonly #files = {
    read: (path: string) => this.#kept.get(path) ?? null,
    write: (path: string, text: string) => void this.#kept.set(path, text),
  };

  constructor(private readonly world: World, private readonly credential: string) {}

  /** The pinned key. */
  get pinned(): string | null {
    return pinnedVerdictKey("", this.#files);
  }

  async link(world = this.world): Promise<ScriptedAgent> {
    const take = (frame: RelayFrame) => {
      if (frame.type !== "welcome") return;
      this.welcomes.push(frame);
      this.pins.push(pinVerdictKey("", frame, this.#files));
    };
    return await ScriptedAgent.connect(world, this.credential, {
      identity: this.identity,
      hello: (own) => ({ ...own, verdict_key: this.pinned }),
      take,
    });
  }
}

const rotate = async (
  { app }: World,
  organization: string | null = null,
  leaveBehind = false,
): Promise<Map<string, string>> => {
  const keys = new Map<string, string>();
  const rotation = { kind: "verdict", organization, leaveBehind } as const;
  await rotateKeys(app.store, app, rotation, (tenant, key) => keys.set(tenant, key));
  return keys;
};

async function begin(world: World, type: "live" | "test" = "live") {
  const owner = await world.signUp();
  const key = await world.key(owner, AGENT_RIGHTS, { type });
  return { owner, key, agent: new Pinning(world, key.value) };
}

const publicKeyIn = async ({ app }: World, tenant: Tenant) =>
  (await verdictKeyOf(app, tenant)).publicKey;

Deno.test("keys.rotate verdict: an agent follows, even over missed rotations, and keeps running commands", async () => {
  await using world = await World.open();
  const here = await begin(world);
  const first = await here.agent.link();
  const before = here.agent.pinned;
  eq((await exec(world, { ...here, agent: first }, "uptime")).status, 200);
  first.drop();
  await rotate(world);
  (await here.agent.link()).drop();
  await rotate(world);
  await rotate(world);
  const last = await here.agent.link();
  deq(here.agent.pins, ["first", "followed", "followed"]);
  deq(here.agent.welcomes.map(({ handovers }) => handovers?.length), [undefined, 1, 2]);
  const now = await publicKeyIn(world, { org: here.owner.org, space: "live" });
  eq(here.agent.pinned, now);
  ok(now !== before);
  eq((await exec(world, { ...here, agent: last }, "uptime")).status, 200);
  eq(last.refusals.length, 0);
  eq(last.id, first.id);
  // An agent that has followed gets no handovers.
  await here.agent.link();
  deq([here.agent.pins.at(-1), here.agent.welcomes.at(-1)!.handovers], ["same", undefined]);
});

Deno.test("keys.rotate verdict: each space of each organization gets its own key, which its log records", async () => {
  await using world = await World.open();
  const here = await begin(world);
  const there = await begin(world, "test");
  const tenants = [here, there].flatMap(({ owner: { org } }) =>
    (["live", "test"] as const).map((space) => ({ org, space }))
  );
  const before = await Promise.all(tenants.map((tenant) => publicKeyIn(world, tenant)));
  await there.agent.link();
  const keys = await rotate(world, there.owner.org);
  const after = await Promise.all(tenants.map((tenant) => publicKeyIn(world, tenant)));
  deq(after.slice(0, 2), before.slice(0, 2));
  deq([...keys], [
    [`${there.owner.org}/live`, after[2]],
    [`${there.owner.org}/test`, after[3]],
  ]);
  eq(new Set([...before, ...after]).size, 6);
  await there.agent.link();
  deq([there.agent.pins, there.agent.pinned], [["first", "followed"], after[3]]);
  const { handovers: [handover] } = await verdictKeyOf(world.app, tenants[2]!);
  const rows = async ({ owner }: typeof here) =>
    (await eventsOf(world, owner, owner.org)).filter(({ event_type }) =>
      event_type === "verdict_key_rotated"
    ).map(({ actor, details }) => ({ actor, details }));
  deq([await rows(here), await rows(there)], [[], [{
    actor: "operator",
    details: { verdict_key: after[2], previous: before[2], signature: handover!.signature },
  }]]);
});

Deno.test("keys.rotate verdict: a command that ran before the rotation ends after it with its receipt", async () => {
  await using world = await World.open();
  const here = await begin(world);
  const agent = await here.agent.link();
  agent.script = () => "silent";
  const asked = exec(world, { ...here, agent }, "make");
  await world.settle();
  const { command_id } = runsOf(agent)[0]!;
  agent.drop();
  eq((await asked).status, 502);
  await rotate(world);
  const again = await here.agent.link();
  finish(again, command_id, { stdout: "made\n" });
  await world.settle();
  const path = `/api/v1/agents/${again.id}/commands/${command_id}`;
  const { body } = await world.call("GET", path, { as: here.owner.token });
  deq([body.status, body.exit_code, again.closed], ["succeeded", 0, null]);
});

Deno.test("keys.rotate verdict: beside a running instance, a link with the former key closes once it is idle", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: false });
  const here = await begin(world);
  const agent = await here.agent.link();
  const old = await ScriptedAgent.connect(world, here.key.value, { name: "web-2" });
  agent.script = () => "silent";
  const asked = exec(world, { ...here, agent }, "make");
  await world.settle();
  await using other = await World.open({
    kv: shared(kv),
    sole: false,
    seed: 2,
    clock: world.clock,
  });
  await rotate(other, null, true);
  await world.running.housekeep();
  eq(agent.closed, null);
  finish(agent, runsOf(agent)[0]!.command_id);
  eq((await asked).status, 200);
  await world.running.housekeep();
  deq(agent.closed, { code: 1001, reason: "the verdict key was changed" });
  // An agent that could not follow keeps its link.
  eq(old.closed, null);
  eq((await exec(world, { ...here, agent: old }, "uptime")).status, 200);
  const again = await here.agent.link();
  deq(here.agent.pins, ["first", "followed"]);
  eq((await exec(world, { ...here, agent: again }, "uptime")).status, 200);
  await world.running.housekeep();
  eq(again.closed, null);
});

Deno.test("keys.rotate verdict: refused while agents could not follow, unless that is accepted", async () => {
  await using world = await World.open();
  const old = await linkAgent(world);
  const tenant: Tenant = { org: old.owner.org, space: "live" };
  const before = await publicKeyIn(world, tenant);
  const here = await begin(world);
  await here.agent.link();
  await rejects(rotate(world), {
    message: `1 agents would refuse a new verdict key for good: web-1 (${old.agent.id} of ` +
      `${old.owner.org}/live). Update them and let each connect once, delete those that are gone, ` +
      "or pass --leave-behind and write the new key into their state directories by hand",
  });
  eq(await publicKeyIn(world, tenant), before);
  eq((await rotate(world, here.owner.org)).size, 2);
  eq((await rotate(world, null, true)).size, 4);
  // An update is enough: then the agent names its pinned key.
  const { identity } = old.agent;
  const updated = await ScriptedAgent.connect(world, old.key.value, {
    identity,
    hello: (own) => ({ ...own, verdict_key: before }),
  });
  const welcome = updated.received.find((frame) => frame.type === "welcome")!;
  deq(welcome.handovers, handoversFrom(await verdictKeyOf(world.app, tenant), before));
  const record = await world.app.store.get(agents, tenant, updated.id);
  eq(record?.verdict_key, await publicKeyIn(world, tenant));
  await rotate(world);
});

Deno.test("keys.rotate: keys and agents stored before handovers existed still work", async () => {
  const kv = await Deno.openKv(":memory:");
  const old = await World.open({ kv: shared(kv) });
  const { owner, agent } = await begin(old);
  (await agent.link()).drop();
  await old[Symbol.asyncDispose]();
  const newer: Readonly<Record<string, string>> = {
    verdict_keys: "handovers",
    audit_keys: "handovers",
    agents: "verdict_key",
  };
  let changed = 0;
  for (const { key, value, kind } of await rawRows<Record<string, unknown>>(kv, owner)) {
    const field = newer[kind];
    if (field === undefined || value[field] === undefined) continue;
    const { [field]: _, ...before } = value;
    await kv.set(key, before);
    changed++;
  }
  eq(changed, 5);
  await using world = await World.open({ kv, seed: 2, clock: old.clock });
  await rejects(rotate(world), /^Error: 1 agents would refuse/);
  (await agent.link(world)).drop();
  await rotate(world);
  await rotateKeys(
    world.app.store,
    world.app,
    { kind: "audit", organization: null, leaveBehind: false },
    () => {},
  );
  await agent.link(world);
  deq(agent.pins, ["first", "same", "followed"]);
});

Deno.test("keys.rotate verdict: an unknown organization or a wrong secret changes nothing", async () => {
  await using world = await World.open();
  const { owner } = await begin(world);
  const tenant: Tenant = { org: owner.org, space: "live" };
  const before = await verdictKeyOf(world.app, tenant);
  await rejects(rotate(world, "org_x"), /^Error: there is no organization "org_x"$/);
  const { store, ports } = world.app;
  const sealer = makeSealer("another secret, as long as it", ports.entropy);
  const rotation = { kind: "verdict", organization: null, leaveBehind: false } as const;
  await rejects(
    rotateKeys(store, { sealer, ports }, rotation, () => {}),
    /RELAY_SECRET is not the one that this store was made with/,
  );
  deq((await verdictKeyOf(world.app, tenant)).handovers, before.handovers);
});

Deno.test("keys.rotate verdict: an agent that missed as many rotations as are kept blocks a further one", async () => {
  await using world = await World.open();
  const here = await begin(world);
  const agent = await here.agent.link();
  agent.drop();
  for (let n = 0; n < MAX_HANDOVERS; n++) await rotate(world);
  const tenant: Tenant = { org: here.owner.org, space: "live" };
  const before = await publicKeyIn(world, tenant);
  await rejects(rotate(world), {
    message: new RegExp(`^1 agents would refuse .*: web-1 \\(${agent.id} of `),
  });
  eq(await publicKeyIn(world, tenant), before);
  (await here.agent.link()).drop();
  deq([here.agent.pins, here.agent.pinned], [["first", "followed"], before]);
  await rotate(world);
  eq((await rotate(world, null, true)).size, 2);
});

Deno.test("keys.rotate: of simultaneous rotations each hands over to the next, beside a running instance", async () => {
  const kv = await Deno.openKv(":memory:");
  await using world = await World.open({ kv, sole: false });
  const here = await begin(world);
  (await here.agent.link()).drop();
  await using other = await World.open({
    kv: shared(kv),
    sole: false,
    seed: 2,
    clock: world.clock,
  });
  await Promise.all([rotate(world), rotate(other), rotate(world), rotate(other)]);
  await here.agent.link();
  deq(here.agent.pins, ["first", "followed"]);
  eq(here.agent.welcomes.at(-1)!.handovers?.length, 4);
});

Deno.test("keys.rotate verdict: a key keeps a limited number of handovers, and an agent that missed more refuses the key", async () => {
  await using world = await World.open();
  const { owner } = await begin(world);
  const tenant: Tenant = { org: owner.org, space: "live" };
  const all = [await publicKeyIn(world, tenant)];
  for (let n = 0; n < MAX_HANDOVERS + 1; n++) {
    all.push((await rotate(world)).get(`${owner.org}/live`)!);
  }
  const key = await verdictKeyOf(world.app, tenant);
  deq(all.map((pinned) => handoversFrom(key, pinned)?.length), [
    undefined,
    ...Array.from({ length: MAX_HANDOVERS }, (_, n) => MAX_HANDOVERS - n),
    undefined,
  ]);
});
