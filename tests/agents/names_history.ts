import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { KeyObject } from "node:crypto";
import { agentIdOf } from "../../core/agents/names.ts";
import { agentNames, agents, isAgentName } from "../../kv/records/agent.ts";
import { devices } from "../../kv/records/device.ts";
import { newIdentity, ScriptedAgent } from "../support/agent.ts";
import type { Random } from "../support/random.ts";
import type { Account, World } from "../support/world.ts";
import { pairMachine } from "./names_fixtures.ts";

const STEPS = 14;
/** Few names, so that they meet; some do not fit, and some have the form of a number or an id. */
const ASKED = ["web-1", "web-1", "Web-1", "web-1-2", "web-1-3", "db", "vm", "agt_0m3xa", "Büro 7"];

/** A machine with its key and credentials, each with its device; null for an API key. */
interface Machine {
  readonly identity: KeyObject;
  readonly credentials: { readonly value: string; readonly device: string | null }[];
  link: ScriptedAgent | null;
}

/** One organization beside what it should have. */
interface Side {
  readonly owner: Account;
  readonly key: string;
  readonly machines: Machine[];
  /** The machine of each agent, by id; the deleted ones are `gone`. */
  readonly agents: Map<string, Machine>;
  readonly gone: Set<string>;
}

/** A random history of two organizations that give their agents the same names. */
export class NamesHistory {
  /** Every name that ever was an agent's. */
  readonly #names = new Set<string>(ASKED.filter(isAgentName));

  private constructor(
    private readonly world: World,
    private readonly dice: Random,
    private readonly sides: readonly Side[],
    private readonly tally: Map<string, number>,
  ) {}

  static async play(world: World, dice: Random, tally: Map<string, number>): Promise<void> {
    const side = async (): Promise<Side> => {
      const owner = await world.signUp();
      const { value: key } = await world.key(owner, ["agents:admin"]);
      return { owner, key, machines: [], agents: new Map(), gone: new Set() };
    };
    const history = new NamesHistory(world, dice, [await side(), await side()], tally);
    for (let step = 0; step < STEPS; step++) {
      const together = dice.chance(0.25);
      if (together) await Promise.all([history.#give(), history.#give(), history.#give()]);
      else await history.#step();
      await world.settle();
      await history.#check();
    }
    for (const { machines } of history.sides) for (const { link } of machines) link?.drop();
    await world.settle();
  }

  #did(what: string): void {
    this.tally.set(what, (this.tally.get(what) ?? 0) + 1);
  }

  async #step(): Promise<void> {
    const { dice } = this;
    const side = dice.pick(this.sides);
    const roll = dice.unit();
    if (roll < 0.4 || side.machines.length === 0) await this.#give();
    else if (roll < 0.7) await this.#reconnect(side, dice.pick(side.machines));
    else if (roll < 0.8) this.#pass();
    else await this.#delete(side);
  }

  /** Gives an agent a name: several of these may happen at once. */
  async #give(): Promise<void> {
    const { dice } = this;
    const side = dice.pick(this.sides);
    const roll = dice.unit();
    if (roll < 0.4) await this.#pair(side);
    else if (roll < 0.6) await this.#register(side);
    else await this.#rename(side);
  }

  /** Renames an agent that is there or was deleted. */
  async #rename({ owner, agents, gone }: Side): Promise<void> {
    const { dice, world } = this;
    const ids = [...agents.keys(), ...gone];
    if (ids.length === 0) return;
    const id = dice.pick(ids), name = dice.pick(ASKED.filter(isAgentName));
    const path = `/api/v1/agents/${id}`;
    const { status, body } = await world.call("PATCH", path, { as: owner.token, body: { name } });
    if (gone.has(id)) {
      eq(status, 404);
      return this.#did("rename of a deleted agent");
    }
    deq([status, body.id], [200, id]);
    this.#did(body.name === name ? "rename" : "rename with a number");
  }

  /** Deletes an agent by its name. */
  async #delete({ owner, agents, gone }: Side): Promise<void> {
    const { dice, world } = this;
    if (agents.size === 0) return;
    const id = dice.pick([...agents.keys()]), as = owner.token;
    const { body: { name } } = await world.call("GET", `/api/v1/agents/${id}`, { as });
    eq((await world.call("DELETE", `/api/v1/agents/${name}`, { as })).status, 204);
    agents.delete(id);
    gone.add(id);
    this.#did("delete");
  }

  async #pair(side: Side): Promise<void> {
    const { dice, world } = this;
    const asked = dice.pick(ASKED);
    const confirms = dice.chance(0.8);
    const { body, credential } = await pairMachine(world, side.owner, asked, confirms);
    ok(isAgentName(body.agent_name), body.agent_name);
    this.#did(body.agent_name === asked ? "pair" : "pair with another name");
    if (!confirms) return;
    const old = side.machines.length > 0 && dice.chance(0.3) ? dice.pick(side.machines) : null;
    const machine = old ?? { identity: newIdentity(), credentials: [], link: null };
    if (old === null) side.machines.push(machine);
    machine.credentials.push({ value: credential, device: body.device_id });
    if (!dice.chance(0.7)) return;
    await this.#reconnect(side, machine);
  }

  async #register(side: Side): Promise<void> {
    const credentials = [{ value: side.key, device: null }];
    const machine: Machine = { identity: newIdentity(), credentials, link: null };
    side.machines.push(machine);
    await this.#reconnect(side, machine);
  }

  /** Links a machine by one of its credentials, after the device of an earlier one was perhaps deleted. */
  async #reconnect(side: Side, machine: Machine): Promise<void> {
    const { dice, world } = this;
    const { identity, credentials } = machine;
    const last = credentials.at(-1)!;
    if (credentials.length > 1) {
      const { device } = credentials.shift()!;
      if (device !== null) {
        await world.call("DELETE", `/api/devices/${device}`, { as: side.owner.token });
      }
    }
    const agent = await ScriptedAgent.connect(world, last.value, {
      identity,
      name: dice.pick(ASKED),
    });
    if (agent.closed !== null) return this.#did("refused link");
    machine.link = agent;
    const known = side.agents.get(agent.id);
    ok(!side.gone.has(agent.id), "a deleted agent came back under its id");
    ok(known === undefined || known === machine, "an id changed its machine");
    this.#did(known === undefined ? "register" : "reconnect");
    side.agents.set(agent.id, machine);
  }

  #pass(): void {
    this.world.clock.nowMs += 11 * 60_000;
    this.#did("time passed");
  }

  /** Names and ids mean what the model says, in both organizations, by the rule and by the API. */
  async #check(): Promise<void> {
    const { store } = this.world.app;
    for (const side of this.sides) {
      const tenant = { org: side.owner.org, space: "live" } as const;
      const { items } = await store.list(agents, tenant, { limit: 100 });
      deq(items.map(({ id }) => id).sort(), [...side.agents.keys()].sort());
      const { items: taken } = await store.list(agentNames, tenant, { limit: 1_000 });
      const given = taken.filter(({ agent_id }) => agent_id !== null);
      deq(
        given.map(({ id, agent_id }) => [id, agent_id]).sort(),
        items.map(({ id, name }) => [name, id]).sort(),
      );
      for (const { id, device_id } of taken) {
        ok(isAgentName(id), id);
        this.#names.add(id);
        const device = device_id === null ? null : await store.get(devices, tenant, device_id);
        if (device_id !== null) deq([device?.agent_name, device?.trust === "revoked"], [id, false]);
      }
      const meaning = new Map(items.map(({ id, name }) => [name, id]));
      for (const name of this.#names) {
        eq(await agentIdOf(store, tenant, name), meaning.get(name) ?? name, name);
      }
      for (const { agents, gone } of this.sides) {
        for (const id of [...agents.keys(), ...gone]) eq(await agentIdOf(store, tenant, id), id);
      }
      await this.#ask(side, meaning);
    }
  }

  async #ask({ owner }: Side, meaning: ReadonlyMap<string, string>): Promise<void> {
    const name = this.dice.pick([...this.#names]);
    const { status, body } = await this.world.call("GET", `/api/v1/agents/${name}`, {
      as: owner.token,
    });
    const id = meaning.get(name);
    if (id === undefined) deq([status, body.error.code], [404, "AGENT_NOT_FOUND"], name);
    else deq([status, body.id, body.name], [200, id, name]);
  }
}
