import { type Random, random } from "../support/random.ts";
import type { Account, Answer } from "../support/world.ts";
import { RovingAgent } from "./agents.ts";
import { Cluster, type Instance } from "./cluster.ts";
import { assertTrue } from "./invariants.ts";

const INSTANCES = 4;
const AGENTS = 2;
const STEPS = 30;
/** After this time deaths are noticed and taken over, and every caller has its answer. */
const REST_MS = 120_000;
const RIGHTS = ["agents:admin", "agents:read", "agents:write", "audit:read"];

/** A command whose acceptance was answered. */
export interface Acknowledged {
  readonly id: string;
  readonly agentId: string;
}

/** One seeded history of a cluster, and what its callers were told. */
export class History {
  readonly steps: string[] = [];
  readonly acknowledged: Acknowledged[] = [];
  readonly agents: RovingAgent[] = [];
  /** What calls threw. */
  readonly #failures: unknown[] = [];

  private constructor(
    readonly dice: Random,
    readonly cluster: Cluster,
    readonly owner: Account,
    readonly key: string,
  ) {}

  /** Plays the history of a seed and checks the invariants at its end. */
  static async play(seed: number): Promise<History> {
    const dice = random(seed), cluster = new Cluster(dice);
    for (let n = 0; n < INSTANCES; n++) await cluster.open();
    const { world } = cluster.instances[0]!;
    const owner = await cluster.drive(world.signUp());
    const { value } = await cluster.drive(world.key(owner, RIGHTS));
    const history = new History(dice, cluster, owner, value);
    try {
      await history.#play();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`${why}\n${history.steps.join("\n")}`, { cause });
    }
    return history;
  }

  async #play(): Promise<void> {
    const { cluster, dice } = this;
    for (let n = 0; n < AGENTS; n++) {
      const agent = new RovingAgent(cluster, `web-${n}`, this.key, () => dice.chance(0.6));
      this.agents.push(agent);
      await this.#link(agent);
    }
    for (let n = 0; n < STEPS; n++) await this.#step();
    await this.#rest();
    await assertTrue(this);
  }

  async #step(): Promise<void> {
    const { cluster, dice } = this;
    const roll = dice.unit();
    if (roll < 0.45) this.#exec();
    else if (roll < 0.65) await this.#pass(dice.pick([500, 2_000, 6_000]));
    else if (roll < 0.75) await this.#link(dice.pick(this.agents));
    else if (roll < 0.80) await this.#kill();
    else for (const agent of this.agents) agent.work();
    await cluster.calls.settle(dice.below(60));
  }

  #note(text: string): void {
    this.steps.push(`${this.cluster.calls.nowMs} ${text}`);
  }

  async #pass(ms: number): Promise<void> {
    this.#note(`${ms} ms pass`);
    await this.cluster.advance(ms);
  }

  /** A caller asks for a command at some instance, and may wait for its end. */
  #exec(): void {
    const { dice, cluster } = this;
    const at = dice.pick(cluster.awake), agent = dice.pick(this.agents);
    const wait = dice.chance(0.5);
    this.#note(`${at.name}: exec at ${agent.name}${wait ? ", waiting" : ""}`);
    const body = { command: "uptime", ...(wait && { wait: 10 }) };
    this.call(at, "POST", `/api/v1/agents/${agent.id}/commands`, body, (answer) => {
      const id = answer.body?.command_id ?? answer.body?.error?.details.command_id;
      this.#note(`${at.name}: answered ${answer.status} for ${id}`);
      if (answer.status < 300) this.acknowledged.push({ id, agentId: agent.id });
    });
  }

  /** Makes a call as the key; `done` hears the answer, if the instance lives to give it. */
  call(
    at: Instance,
    method: string,
    path: string,
    body: unknown,
    done: (answer: Answer) => void,
  ): void {
    at.world.call(method, path, { as: this.key, body }).then(done)
      .catch((error) => this.#failures.push(error));
  }

  async #link(agent: RovingAgent): Promise<void> {
    const at = this.dice.pick(this.cluster.awake);
    this.#note(`${agent.name} links at ${at.name}`);
    await this.cluster.drive(agent.connect(at));
    await this.cluster.calls.settle();
  }

  /** An instance dies, sometimes with the agents that it holds, and another one starts. */
  async #kill(): Promise<void> {
    const { cluster, dice } = this;
    const at = dice.pick(cluster.awake), withAgents = dice.chance(0.3);
    this.#note(`${at.name} dies${withAgents ? " with its agents" : ""}`);
    cluster.kill(at);
    const held = this.agents.filter((agent) => agent.at === at);
    const next = await cluster.open();
    this.#note(`${next.name} starts`);
    for (const agent of held) withAgents ? agent.drop() : await this.#link(agent);
  }

  /** Waits until all has come to rest. */
  async #rest(): Promise<void> {
    this.#note("rest");
    const { cluster } = this;
    for (let restMs = 0; restMs < REST_MS; restMs += 5_000) {
      for (const agent of this.agents) agent.work(true);
      await cluster.advance(5_000);
    }
    if (this.#failures.length > 0) throw this.#failures[0];
  }
}
