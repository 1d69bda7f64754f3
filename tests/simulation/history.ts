import { type Random, random } from "../support/random.ts";
import { makeHook } from "../support/linked_agent.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { RovingAgent } from "./agents.ts";
import { Asker, type Credentials } from "./asker.ts";
import { Callers } from "./callers.ts";
import { Cluster, type Instance } from "./cluster.ts";
import { assertTrue } from "./invariants.ts";
import { Receiver } from "./receiver.ts";
import { Rules } from "./rules.ts";
import { Witness } from "./witness.ts";

const INSTANCES = 4;
const AGENTS = 2;
const STEPS = 40;
/** Longer than a lease. */
const FROZEN_MS = [20_000, 30_000, 60_000];
/** How much of the rest passes before agents without a link dial again. */
const REDIAL_MS = 60_000;
/** How often something strikes at the instant of a commit that decides who sends a command. */
const STRIKES = 0.15;
/** After this time deaths are noticed and taken over, and every caller has its answer. */
const REST_MS = 180_000;
/** What a key may ask in a minute. */
export const PER_MINUTE = 10;
export const ATTEMPTS_MAX = 3;
const RIGHTS = ["agents:admin", "agents:read", "agents:write", "audit:read"];
/** The events that the webhook wants. */
export const HEARD = ["command_executed", "approval_resolved", "agent_disconnected"];
const CONFIG = {
  ...NO_LIMITS,
  limits: {
    ...NO_LIMITS.limits,
    test: { ...NO_LIMITS.limits.test, requests_per_minute: PER_MINUTE },
  },
};

/** One seeded history of a cluster, and what its callers were told. */
export class History {
  readonly steps: string[] = [];
  readonly agents: RovingAgent[] = [];
  readonly asker: Asker;
  readonly callers: Callers;
  readonly rules: Rules;
  readonly witness: Witness;
  /** Set when no more faults happen. */
  #isAtRest = false;
  /** Instances to start in place of dead ones, with the agents that then dial again. */
  readonly #replacements: (() => Promise<void>)[] = [];

  private constructor(
    readonly dice: Random,
    readonly cluster: Cluster,
    readonly credentials: Credentials,
    readonly receiver: Receiver,
  ) {
    this.asker = new Asker(dice, cluster, credentials, (text) => this.#note(text));
    this.callers = new Callers(dice, this.asker);
    this.rules = new Rules(dice, this.asker);
    this.witness = new Witness(cluster, {
      begun: (by, { agent_id }) => this.#strike(by, agent_id),
      queued: ({ agent_id }) => this.#relink(agent_id),
      relinked: (former, agentId) => this.#ask(former, agentId),
    });
  }

  /** Plays the history of a seed and checks the invariants at its end. */
  static async play(seed: number): Promise<History> {
    const dice = random(seed), cluster = new Cluster(dice, CONFIG);
    const receiver = new Receiver(cluster, dice);
    for (let n = 0; n < INSTANCES; n++) receiver.listenTo(await cluster.open());
    const credentials = await cluster.drive(prepare(cluster));
    const history = new History(dice, cluster, credentials, receiver);
    try {
      await history.#play();
    } catch (cause) {
      const why = cause instanceof Error ? cause.stack : String(cause);
      throw new Error(`${why}\n${history.steps.join("\n")}`, { cause });
    }
    return history;
  }

  async #play(): Promise<void> {
    const { cluster, dice } = this;
    for (let n = 0; n < AGENTS; n++) {
      const agent = new RovingAgent(cluster, `web-${n}`, this.credentials.key, dice, this.witness);
      this.agents.push(agent);
      await cluster.drive(agent.connect(dice.pick(cluster.awake)));
      await cluster.calls.settle();
    }
    for (let n = 0; n < STEPS; n++) {
      await this.#step();
      for (const replace of this.#replacements.splice(0)) await replace();
      await cluster.calls.settle(dice.below(60));
    }
    await this.#rest();
    await assertTrue(this);
  }

  async #step(): Promise<void> {
    const { callers, dice, rules } = this;
    const agent = dice.pick(this.agents);
    const acts: readonly (readonly [number, () => unknown])[] = [
      [10, () => callers.exec(agent)],
      [4, () => callers.approve()],
      [2, () => callers.cancel(this.agents)],
      [2, () => rules.revoke()],
      [2, () => rules.use()],
      [2, () => rules.hurry()],
      [1, () => rules.forbid(agent)],
      [2, () => callers.chain(agent)],
      [8, () => this.#pass(dice.pick([500, 2_000, 6_000]))],
      [3, () => this.#link(agent)],
      [6, () => this.agents.forEach((each) => each.work())],
      [2, () => this.#kill(dice.pick(this.cluster.awake))],
      [1, () => this.#freeze(dice.pick(this.cluster.awake))],
      [3, () => this.#disturb()],
    ];
    let roll = dice.below(acts.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, act] of acts) if ((roll -= weight) < 0) return void await act();
  }

  #note(text: string): void {
    this.steps.push(`${this.cluster.calls.nowMs} ${text}`);
  }

  async #pass(ms: number): Promise<void> {
    this.#note(`${ms} ms pass`);
    await this.cluster.advance(ms);
    for (const agent of this.agents) agent.beat();
  }

  #link(agent: RovingAgent): void {
    const at = this.dice.pick(this.cluster.awake);
    this.#note(`${agent.name} links at ${at.name}`);
    agent.connect(at).catch((error) => this.#note(`${agent.name} has no link: ${error.message}`));
  }

  /** An instance dies, sometimes with the agents that it holds, and another one starts. */
  #kill(at: Instance): void {
    const { cluster, dice } = this;
    if (cluster.awake.length < 2) return;
    const withAgents = dice.chance(0.3);
    this.#note(`${at.name} dies${withAgents ? " with its agents" : ""}`);
    cluster.kill(at);
    const held = this.agents.filter((agent) => agent.at === at);
    this.#replacements.push(async () => {
      const next = await cluster.open();
      this.receiver.listenTo(next);
      this.#note(`${next.name} starts`);
      for (const agent of held) withAgents ? agent.drop() : this.#link(agent);
    });
  }

  /** A process stops for longer than a lease, then goes on where it was. */
  #freeze(at: Instance): void {
    const { cluster, dice } = this;
    if (cluster.awake.length < 2) return;
    const forMs = dice.pick(FROZEN_MS);
    this.#note(`${at.name} freezes for ${forMs} ms`);
    cluster.freeze(at, forMs);
  }

  /** Something happens just when an instance has recorded a command and is about to send it. */
  #strike(by: Instance, agentId: string): void {
    const { dice } = this;
    if (this.#isAtRest || by.state !== "awake" || !dice.chance(STRIKES)) return;
    const agent = this.agents.find(({ id }) => id === agentId)!;
    dice.pick([() => this.#freeze(by), () => this.#kill(by), () => this.#link(agent)])();
  }

  /** The agent of a command that was just queued sometimes links anew, so that two instances want to send it. */
  #relink(agentId: string): void {
    if (this.#isAtRest || !this.dice.chance(STRIKES)) return;
    this.#link(this.agents.find(({ id }) => id === agentId)!);
  }

  /** Asks for commands where an agent was linked until this instant. */
  #ask(former: Instance, agentId: string): void {
    const { callers, dice } = this;
    const agent = this.agents.find(({ id }) => id === agentId)!;
    if (dice.chance(0.5)) callers.exec(agent, former);
    if (dice.chance(0.5)) callers.approve(former);
  }

  /** The calls of an instance begin to fail, or stop failing. */
  #disturb(): void {
    const at = this.dice.pick(this.cluster.awake);
    const faults = at.faults > 0 ? 0 : this.dice.pick([0.02, 0.1, 0.3]);
    this.#note(`${at.name} has faults in ${faults} of its calls`);
    this.cluster.disturb(at, faults);
  }

  /** Ends all faults and waits until all has come to rest. */
  async #rest(): Promise<void> {
    this.#note("rest");
    this.#isAtRest = true;
    const { cluster } = this;
    for (const instance of cluster.instances) cluster.disturb(instance, 0);
    this.callers.approveAll();
    for (let restMs = 0; restMs < REST_MS; restMs += 5_000) {
      for (const replace of this.#replacements.splice(0)) await replace();
      if (restMs >= REDIAL_MS) this.agents.forEach((agent) => agent.isLinked || this.#link(agent));
      for (const agent of this.agents) {
        agent.work(true);
        agent.beat();
      }
      await cluster.advance(5_000);
    }
  }
}

/** Makes the organization of a history, with its people, keys and a webhook. */
async function prepare({ instances }: Cluster): Promise<Credentials> {
  const { world } = instances[0]!;
  const owner = await world.signUp();
  const second = await world.join(owner, ["admin"]);
  const { value: key } = await world.key(owner, RIGHTS);
  const { value: eager } = await world.key(owner, ["agents:read"], { type: "test" });
  const spare = [];
  for (let n = 0; n < 2; n++) {
    spare.push({ ...await world.key(owner, ["agents:read"]), revokedMs: null });
  }
  await makeHook(world, owner, HEARD, {
    retry_policy: {
      max_retries: ATTEMPTS_MAX,
      initial_delay_seconds: 2,
      backoff_multiplier: 2,
      max_delay_seconds: 8,
      auto_disable: false,
    },
  });
  return { owner, second, key, eager, spare };
}
