import { ok } from "node:assert/strict";
import type { Random } from "../support/random.ts";
import type { RovingAgent } from "./agents.ts";
import type { Asker } from "./asker.ts";

const BURST = 12;
/** How often something that must be refused is tried. */
const TRIES = 3;

/** What changes what callers may do, and tries to break it at every instance. */
export class Rules {
  /** How many calls of the eager key were let through in each window. */
  readonly let = new Map<string, number>();
  /** How many commands the organization's policy forbids; a change may be under way. */
  #forbidden = 0;
  #changing = false;

  constructor(private readonly dice: Random, private readonly asker: Asker) {}

  /** Revokes a spare key, and uses it from then on. */
  revoke(): void {
    const { asker, dice } = this;
    const key = dice.pick(asker.credentials.spare), at = asker.any();
    if (key.revokedMs !== null) return;
    asker.start(async () => {
      const as = asker.credentials.owner.token;
      const { status } = await asker.call(at, "POST", `/api/v1/api-keys/${key.id}/revoke`, { as });
      asker.note(`${at.name}: revocation of ${key.id} answered ${status}`);
      if (status !== 200) return;
      key.revokedMs = asker.nowMs;
      for (let n = 0; n < TRIES; n++) this.use(key);
    });
  }

  /** Uses a spare key; a revoked one must be refused. */
  use(key = this.dice.pick(this.asker.credentials.spare)): void {
    const { asker } = this;
    const { revokedMs } = key, at = asker.any();
    asker.start(async () => {
      const { status } = await asker.call(at, "GET", "/api/v1/agents", { as: key.value });
      asker.note(`${at.name}: ${key.id} answered ${status}`);
      if (revokedMs === null) return;
      ok(status === 401 || status === 503, `${at.name} let the revoked ${key.id} in`);
      if (status === 401) asker.count("refused keys");
    });
  }

  /** Forbids one more command, and asks for it from then on. */
  forbid(agent: RovingAgent): void {
    const { asker } = this;
    if (this.#changing) return;
    this.#changing = true;
    const at = asker.any(), n = this.#forbidden;
    const rules = Array.from({ length: n + 1 }, (_, each) => ({
      id: `no-${each}`,
      match: { commands: [`tool-${each}`] },
      verdict: "deny",
    }));
    asker.start(async () => {
      const as = asker.credentials.owner.token, body = { policy: { rules } };
      const { status } = await asker.call(at, "PATCH", "/api/shield/settings", { as, body });
      asker.note(`${at.name}: forbidding tool-${n} answered ${status}`);
      this.#changing = false;
      if (status !== 200) return;
      this.#forbidden = n + 1;
      for (let tries = 0; tries < TRIES; tries++) this.#ask(agent, n);
    });
  }

  #ask(agent: RovingAgent, n: number): void {
    const { asker } = this, at = asker.any();
    asker.start(async () => {
      const path = `/api/v1/agents/${agent.id}/commands`, body = { command: `tool-${n}` };
      const { status } = await asker.call(at, "POST", path, { body });
      asker.note(`${at.name}: the forbidden tool-${n} answered ${status}`);
      ok(status === 403 || status === 503, `${at.name} accepted a forbidden command`);
      if (status === 403) asker.count("forbidden commands");
    });
  }

  /** Asks more often than a key may. */
  hurry(): void {
    const { asker } = this;
    for (let n = 0; n < BURST; n++) {
      const at = asker.any();
      asker.start(async () => {
        const as = asker.credentials.eager;
        const { status, headers } = await asker.call(at, "GET", "/api/v1/agents", { as });
        if (status === 429) asker.count("limited calls");
        if (status !== 200) return;
        const window = headers.get("x-ratelimit-reset")!;
        this.let.set(window, (this.let.get(window) ?? 0) + 1);
      });
    }
  }

  /** Fails when a window let more calls through than its limit. */
  assertLimit(limit: number): void {
    for (const [window, count] of this.let) {
      ok(count <= limit, `${count} calls passed in the window that ends at ${window}`);
    }
  }
}
