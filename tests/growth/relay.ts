import { fail } from "node:assert/strict";
import { readSettings } from "../../core/context/settings.ts";
import { systemClock, systemPorts } from "../../core/ports/system.ts";
import { type Running, startRelay } from "../../core/start.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { serveMcp } from "../../mcp/endpoint.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { NO_LIMITS } from "../support/no_limits.ts";

export const SECRET = "a secret of the growth task";
/** Signing up many people must not be slow. */
const CHEAP = { algorithm: "argon2id", memoryKib: 8, passes: 1, lanes: 1 } as const;
const ENV = {
  RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, outbound: { allow_private_targets: true } }),
};
const FROM = { remoteAddr: { transport: "tcp", hostname: "127.0.0.1", port: 1 } } as const;

/** A relay in this process, over a file, without limits. */
export class GrownRelay {
  private constructor(
    readonly running: Running,
    private readonly handler: ReturnType<typeof mount>,
  ) {}

  /** Starts it, on a clock that is behind. */
  static async start(kv: string, behindMs = 0): Promise<GrownRelay> {
    const settings = readSettings({ ...ENV, RELAY_KV: kv }, () => "", false);
    const clock = { ...systemClock, now: () => systemClock.now() - behindMs };
    const opened = await openStore(kv, clock);
    const ports = {
      ...systemPorts(() => true, { logLevel: "error" }),
      passwordCost: CHEAP,
      clock,
    };
    const running = await startRelay(opened, { ...settings, secret: SECRET }, ports);
    const { services } = serveMcp(running.app, routes);
    return new GrownRelay(running, mount(running.app, routes, upgrades, services));
  }

  get app() {
    return this.running.app;
  }

  /** Serves agents, whose links need a socket. */
  listen(): Deno.HttpServer<Deno.NetAddr> {
    return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, this.handler);
  }

  /** An answer's body. @throws {Error} when the request fails */
  // deno-lint-ignore no-explicit-any -- bodies of every shape
  async call(as: string | null, method: string, path: string, body?: unknown): Promise<any> {
    const headers = {
      ...as !== null && { authorization: `Bearer ${as}` },
      ...body !== undefined && { "content-type": "application/json" },
    };
    const init = { method, headers, ...body !== undefined && { body: JSON.stringify(body) } };
    const answer = await this.handler(new Request(`http://localhost${path}`, init), FROM);
    const text = await answer.text();
    if (!answer.ok) fail(`${method} ${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  }

  async stop(): Promise<void> {
    if (!await this.running.stop()) fail("the relay could not record everything at its stop");
  }
}
