import { z } from "zod";
import { startRelay } from "../../core/start.ts";
import { readSettings } from "../../core/settings.ts";
import { secretOf, systemClock, systemPorts } from "../../core/system.ts";
import { openStore } from "../../kv/open.ts";
import { serveMcp } from "../../mcp/endpoint.ts";
import { mount } from "../../routes/_mount.ts";
import { type Route, route } from "../../routes/_route.ts";
import { routes, upgrades } from "../../routes/index.ts";

/** A relay as `relay serve` runs it, on a new store, with limits so high that only their cost shows. */
const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
const env = {
  RELAY_KV: `${folder}/relay.kv`,
  RELAY_CONFIG: JSON.stringify({
    plans: { starter: { requests_per_minute: 2_000_000_000 } },
    limits: { public_per_minute: null },
    outbound: { allow_private_targets: true },
  }),
};
const settings = readSettings(env, (path) => Deno.readTextFileSync(path), false);
const opened = await openStore(settings.kv, systemClock);
const ports = systemPorts(() => settings.config.outbound.allow_private_targets);
const running = await startRelay(opened, { ...settings, secret: secretOf(settings) }, ports);
const onListen = ({ port }: { port: number }) => console.log(JSON.stringify({ port }));
const { services } = serveMcp(running.app, [...routes, ...moreTools(Number(Deno.args[0] ?? 0))]);
const handler = mount(running.app, routes, upgrades, services);
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, handler);
Deno.addSignalListener("SIGTERM", () => {
  Deno.removeSync(folder, { recursive: true });
  Deno.exit(0);
});

/** Tools that do nothing, to see what many of them cost. */
function moreTools(count: number): Route[] {
  return Array.from({ length: count }, (_, n) =>
    route({
      id: `more.tool_${n}`,
      method: "GET",
      path: `/more/${n}`,
      summary: `Tool ${n}`,
      access: { scope: "agents:read" },
      effect: "read",
      query: z.strictObject({ limit: z.coerce.number().int().default(50), name: z.string() }),
      success: { status: 200, body: z.object({ n: z.int() }) },
      faults: [],
      tool: { destructive: false },
      handle: () => ({ n }),
    }));
}
