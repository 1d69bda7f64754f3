import { startRelay } from "../../core/start.ts";
import { readSettings } from "../../core/settings.ts";
import { secretsOf } from "../../core/secrets/file.ts";
import { systemClock, systemPorts } from "../../core/system.ts";
import { openStore } from "../../kv/open.ts";
import { mount } from "../../routes/_mount.ts";
import { routes, upgrades } from "../../routes/index.ts";

/**
 * A relay as `relay serve` runs it, on a new store, with limits so high that only their cost shows; the
 * argument is another limit for a key's requests a minute.
 */
const HIGH = 2_000_000_000;
const keyRequests = Number(Deno.args[0] ?? HIGH);
const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
const env = {
  RELAY_KV: `${folder}/relay.kv`,
  RELAY_CONFIG: JSON.stringify({
    plans: { starter: { requests_per_minute: HIGH } },
    limits: {
      live: {
        requests_per_minute: keyRequests,
        mcp_calls_per_minute: HIGH,
        max_concurrent: HIGH,
        burst_per_10_seconds: HIGH,
      },
      public_per_minute: null,
    },
    outbound: { allow_private_targets: true },
  }),
};
const settings = readSettings(env, (path) => Deno.readTextFileSync(path), false);
const opened = await openStore(settings.kv, systemClock);
const ports = systemPorts(() => settings.config.outbound.allow_private_targets);
const running = await startRelay(
  opened,
  { ...settings, ...secretsOf(settings, ports.entropy) },
  ports,
);
const onListen = ({ port }: { port: number }) =>
  console.log(JSON.stringify({ port, kv: env.RELAY_KV }));
const handler = mount(running.app, routes, upgrades);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, handler);
Deno.addSignalListener("SIGTERM", () => {
  Deno.removeSync(folder, { recursive: true });
  Deno.exit(0);
});
