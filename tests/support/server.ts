import { type Config, parseConfig } from "../../core/context/config.ts";
import { readSettings } from "../../core/context/settings.ts";
import { type Running, startRelay } from "../../core/start.ts";
import { systemClock, systemPorts } from "../../core/ports/system.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { NO_LIMITS } from "./no_limits.ts";

/** A relay in this process, with the real clock, on a port of this machine. */
export interface LocalServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly running: Running;
}

/** Starts one on a store in memory, which limits nobody. */
export async function openServer(): Promise<LocalServer> {
  const config: Config = parseConfig(JSON.stringify(NO_LIMITS));
  const env = { RELAY_KV: ":memory:", RELAY_SECRET: "a secret for tests, long enough" };
  const settings = { ...readSettings(env, () => "", false), config };
  const ports = systemPorts(() => false);
  const log = { info: () => {}, warn: () => {}, error: console.error };
  const running = await startRelay(
    await openStore(":memory:", systemClock),
    { ...settings, secret: env.RELAY_SECRET },
    { ...ports, log },
  );
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    mount(running.app, routes, upgrades),
  );
  const { port } = server.addr;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    running,
    async [Symbol.asyncDispose]() {
      running.app.streams.stop();
      await server.shutdown();
      await running.stop();
    },
  };
}
