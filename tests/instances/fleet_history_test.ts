import { setImmediate } from "node:timers/promises";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { commands, fleetCommands } from "../../kv/records/command.ts";
import { everyListed } from "../../kv/store/iterate.ts";
import { countsOf, finishAll, makeFleet, show, silent } from "../agents/commands/fleet_fixtures.ts";
import { openMemoryStore } from "../cluster/shared_store.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { committing } from "../support/kv.ts";
import { runsOf } from "../support/linked_agent.ts";
import { type Random, random } from "../support/random.ts";
import { type Answer, World } from "../support/world.ts";

const [INSTANCES, AGENTS, STEPS] = [3, 4, 40];
/** Turns of the event loop before a commit is made, at most. */
const TURNS_MAX = 12;
/** Turns that a step may take before time passes. */
const STEP_TURNS = 300;
/** Reasons of commands that were not sent. */
const UNSENT = /fleet command (was cancelled|failed)|none was started|not (sent|connected)/;
/** Needs an approval. */
const HELD = "rm /tmp/../etc/hosts";

const wanted = Number(Deno.env.get("RELAY_HISTORIES") ?? 3);
const chosen = Deno.env.get("RELAY_HISTORIES_SEED");
const seed = Number(chosen ?? crypto.getRandomValues(new Uint32Array(1))[0]! % 1_000_000_000);

/** Several instances on one store, each with a clock of its own. A frozen one's timers stand still. */
class History {
  readonly #frozen = new Map<World, number>();
  /** Every link that an agent had. */
  readonly #links: ScriptedAgent[] = [];
  #agents: ScriptedAgent[] = [];
  readonly #dropped = new Set<ScriptedAgent>();
  readonly #fleets: { id: string; approvals: string[] }[] = [];
  /** Commands that must not run any more. */
  readonly #ended = new Set<string>();
  /** The part of commits whose reply is lost, or which are not made. */
  losses = 0;

  private constructor(
    readonly dice: Random,
    readonly worlds: World[],
    readonly owner: Awaited<ReturnType<World["signUp"]>>,
    readonly admin: Awaited<ReturnType<World["signUp"]>>,
    readonly key: string,
  ) {}

  static async open(dice: Random): Promise<History> {
    const { opened } = openMemoryStore();
    const worlds: World[] = [];
    let history: History | null = null;
    // The seed repeats the steps. Signatures are made in threads, so commits may come in another order.
    const luck = random(dice.seed);
    const kv = committing(opened, async (commit) => {
      for (let turns = luck.below(TURNS_MAX); turns > 0; turns--) await setImmediate();
      if (!luck.chance(history?.losses ?? 0)) return await commit();
      if (luck.chance(0.5)) await commit();
      throw new Error("connection reset before the reply came");
    });
    for (let n = 1; n <= INSTANCES; n++) {
      worlds.push(await World.open({ kv, sole: false, seed: n }));
    }
    const { owner, key, agents } = await makeFleet(worlds[0]!, AGENTS);
    const admin = await worlds[0]!.join(owner, ["admin"]);
    history = new History(dice, worlds, owner, admin, key);
    history.#agents = [...agents];
    history.#links.push(...agents);
    silent(agents);
    for (let at = 0; at < AGENTS; at++) await history.#connect(at);
    return history;
  }

  async play(): Promise<void> {
    const { dice } = this;
    const steps: (() => unknown)[] = [
      () => this.#start(),
      () => this.#start(),
      () => this.#cancel(),
      () => this.#cancelOne(),
      () => this.#decide(),
      () => this.#decide(),
      () => this.#freeze(),
      () => this.#wake(),
      () => this.#drop(dice.pick(this.#agents)),
      () => this.#connect(dice.below(AGENTS)),
      ...Array.from({ length: 4 }, () => () => this.#reconnect()),
      () => this.#pass(1 + dice.below(8)),
      () => this.#pass(20),
      ...Array.from({ length: 5 }, () => () => {
        finishAll(this.#agents[dice.below(AGENTS)]!, dice.chance(0.3) ? 1 : 0);
      }),
    ];
    for (let step = 0; step < STEPS; step++) {
      this.losses = dice.chance(0.3) ? 0.1 : 0;
      const together = Array.from({ length: 1 + dice.below(3) }, () => dice.pick(steps));
      await this.#until(Promise.all(together.map((act) => act())));
      if (dice.chance(0.5)) await this.#settle();
    }
    this.losses = 0;
    for (const world of this.#frozen.keys()) this.#thaw(world);
    await this.#pass(40);
    for (const { pid } of await this.#pending()) {
      await this.#post(this.worlds[0]!, `/api/shield/reject/${pid}`);
    }
    for (let round = 0; round < 12; round++) {
      await this.#reconnect();
      for (const agent of this.#agents) finishAll(agent);
      await this.#pass(6);
    }
  }

  async check(): Promise<void> {
    const [world] = this.worlds as [World];
    const runs = this.#links.flatMap((agent) => runsOf(agent).map(({ command_id }) => command_id));
    eq(new Set(runs).size, runs.length, "a command ran twice");
    deq(runs.filter((id) => this.#ended.has(id)), [], "a command ran after its end");
    const tenant = { org: this.owner.org, space: "live" } as const;
    for await (
      const { id } of everyListed(world.app.store, fleetCommands, tenant, { limit: 100 })
    ) {
      const { body: fleet } = await world.call("GET", `/api/v1/commands/${id}`, {
        as: this.owner.token,
      });
      ok(fleet.status !== "running", `${id} has not ended: ${JSON.stringify(fleet.counts)}`);
      await countsOf(world, this.owner, id);
      for (const { command_id, status, reason } of fleet.commands) {
        if (status === "succeeded") ok(runs.includes(command_id), `${command_id} did not run`);
        if (UNSENT.test(reason)) ok(!runs.includes(command_id), `${command_id} ran: ${reason}`);
      }
    }
    deq(await this.#pending(), []);
  }

  async #pending(): Promise<{ pid: string }[]> {
    const path = "/api/shield/approvals?status=pending&limit=100";
    return (await this.worlds[0]!.call("GET", path, { as: this.admin.token })).body.approvals;
  }

  async close(): Promise<void> {
    for (const world of this.worlds.toReversed()) await world[Symbol.asyncDispose]();
  }

  async #settle(): Promise<void> {
    for (let round = 0; round < 2; round++) {
      for (const world of this.worlds) {
        await world.settle().catch((error) => {
          if (!(error instanceof StoreUnavailableError)) throw error;
        });
      }
    }
  }

  async #pass(seconds: number): Promise<void> {
    for (let n = 0; n < seconds; n++) {
      for (const world of this.worlds) {
        const frozenMs = this.#frozen.get(world);
        if (frozenMs === undefined) world.clock.advance(1_000);
        else this.#frozen.set(world, frozenMs + 1_000);
      }
      await this.#settle();
    }
  }

  /** Waits for steps. Some wait for time to pass, such as the cancellation of a command that has started. */
  async #until(acted: Promise<unknown>): Promise<void> {
    let done = false;
    acted.then(() => done = true, () => done = true);
    for (let turns = 0; !done && turns < STEP_TURNS; turns++) await setImmediate();
    while (!done) await this.#pass(1);
    await acted;
  }

  #freeze(): void {
    if (this.#frozen.size + 1 < INSTANCES) {
      const world = this.dice.pick(this.worlds);
      if (!this.#frozen.has(world)) this.#frozen.set(world, 0);
    }
  }

  #wake(): void {
    if (this.#frozen.size > 0) this.#thaw(this.dice.pick([...this.#frozen.keys()]));
  }

  #thaw(world: World): void {
    world.clock.freeze(this.#frozen.get(world)!);
    this.#frozen.delete(world);
  }

  /** An instance that answers: frozen ones do as soon as they wake up, before any of their timers fires. */
  #answering(): World {
    const world = this.dice.pick(this.worlds);
    if (this.#frozen.has(world)) this.#thaw(world);
    return world;
  }

  async #connect(at: number): Promise<void> {
    const awake = this.worlds.filter((world) => !this.#frozen.has(world));
    const { identity } = this.#agents[at]!;
    const agent = await ScriptedAgent.open(this.dice.pick(awake), this.key, { identity })
      .catch(() => null);
    if (agent === null) return;
    silent([agent]);
    this.#links.push(agent);
    this.#agents[at] = agent;
  }

  #drop(agent: ScriptedAgent): void {
    agent.drop();
    this.#dropped.add(agent);
  }

  /** Agents whose links broke or were closed dial again. */
  async #reconnect(): Promise<void> {
    for (const [at, agent] of this.#agents.entries()) {
      if (agent.closed !== null || this.#dropped.has(agent)) await this.#connect(at);
    }
  }

  async #post(world: World, path: string, body: unknown = {}): Promise<Answer> {
    const as = path.startsWith("/api/shield") ? this.admin.token : this.owner.token;
    const answer = await world.call("POST", path, { as, body });
    ok([200, 202, 404, 409, 503].includes(answer.status), `${path}: ${answer.text}`);
    return answer;
  }

  async #start(): Promise<void> {
    const { dice } = this;
    const { status, body } = await this.#post(this.#answering(), "/api/v1/commands", {
      all: true,
      command: dice.chance(0.5) ? HELD : "uptime",
      parallel: 1 + dice.below(3),
      ...(dice.chance(0.3) && { stop_after_failures: 1 + dice.below(2) }),
    });
    if (status === 202) this.#fleets.push(body);
  }

  async #cancel(): Promise<void> {
    if (this.#fleets.length === 0) return;
    const { id } = this.dice.pick(this.#fleets);
    const world = this.#answering();
    const { status } = await this.#post(world, `/api/v1/commands/${id}/cancel`);
    if (status === 200) await this.#noteEnded(id, () => true);
  }

  async #cancelOne(): Promise<void> {
    if (this.#fleets.length === 0) return;
    const { id } = this.dice.pick(this.#fleets);
    const { commands: some } = await show(
      this.worlds[0]!,
      this.owner,
      id,
      "?status=queued,pending_approval",
    );
    if (!some?.length) return;
    const { agent_id, command_id } = this.dice.pick(some) as Answer["body"];
    const path = `/api/v1/agents/${agent_id}/commands/${command_id}/cancel`;
    const { status, body } = await this.#post(this.#answering(), path);
    if (status === 200 && body.status === "cancelled" && body.started_at === null) {
      this.#ended.add(command_id);
    }
  }

  async #decide(): Promise<void> {
    if (this.#fleets.length === 0) return;
    const { id, approvals } = this.dice.pick(this.#fleets);
    if (approvals.length === 0) return;
    const pid = this.dice.pick(approvals);
    const how = this.dice.chance(0.7) ? "approve" : "reject";
    const { status } = await this.#post(this.#answering(), `/api/shield/${how}/${pid}`);
    if (status !== 200 || how === "approve") return;
    await this.#noteEnded(id, ({ approval_id }) => approval_id === pid);
  }

  /** Notes that the commands of a fleet command which have not been released must not run any more. */
  async #noteEnded(
    id: string,
    of: (record: { approval_id: string | null }) => boolean,
  ): Promise<void> {
    const tenant = { org: this.owner.org, space: "live" } as const;
    const { store } = this.worlds[0]!.app;
    const { items } = await store.list(commands, tenant, {
      index: "parent",
      prefix: [id],
      limit: 100,
    });
    for (const record of items) {
      const waits = record.status === "pending_approval" ||
        record.status === "queued" && record.start_before_ms === null;
      if (waits && of(record)) this.#ended.add(record.id);
    }
  }
}

Deno.test(`fleet_commands, ${wanted} histories of several instances from seed ${seed}: no command runs twice or after its end, and all end`, async () => {
  console.log(`RELAY_HISTORIES_SEED=${seed} RELAY_HISTORIES=${wanted}`);
  for (let n = 0; n < wanted; n++) {
    const again = `RELAY_HISTORIES_SEED=${seed + n} RELAY_HISTORIES=1`;
    const history = await History.open(random(seed + n));
    try {
      await history.play();
      await history.check();
    } catch (cause) {
      throw new Error(`the history of ${again}: ${(cause as Error).message}`, { cause });
    }
    await history.close();
  }
});
