import { z } from "zod";
import { Sequencer } from "../../core/events/trail/sequencer.ts";
import { eventJson } from "../../core/events/events.ts";
import { startRelay } from "../../core/start.ts";
import { readSettings } from "../../core/context/settings.ts";
import { secretsOf } from "../../core/host/secrets/file.ts";
import { systemClock, systemPorts } from "../../core/ports/system.ts";
import { openTracing } from "../../core/ports/tracing.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { serveMcp } from "../../mcp/endpoint.ts";
import { mount } from "../../routes/http/mount.ts";
import { type Route, route } from "../../routes/call/route.ts";
import { routes, upgrades } from "../../routes/index.ts";

/**
 * A relay as `relay serve` runs it, on a new store, with limits so high that only their cost shows.
 * Arguments: another limit for a key's requests a minute, how many tools more there are, `unsequenced`
 * for a log whose rows become no leaves, and a limit for an address's requests a minute. RELAY_KV and
 * RELAY_SECRET may name a shared store.
 */
const HIGH = 2_000_000_000;
const keyRequests = Number(Deno.args[0] ?? HIGH);
if (Deno.args[2] === "unsequenced") Sequencer.prototype.start = () => {};
const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
const env = {
  RELAY_KV: Deno.env.get("RELAY_KV") ?? `${folder}/relay.kv`,
  RELAY_SECRET: Deno.env.get("RELAY_SECRET"),
  RELAY_CONFIG: JSON.stringify({
    plans: { starter: { requests_per_minute: HIGH }, enterprise: { requests_per_minute: HIGH } },
    limits: {
      live: {
        requests_per_minute: keyRequests,
        mcp_calls_per_minute: HIGH,
        max_concurrent: HIGH,
        burst_per_10_seconds: HIGH,
      },
      public_per_minute: Deno.args[3] === undefined ? null : Number(Deno.args[3]),
    },
    outbound: { allow_private_targets: true },
  }),
};
const settings = readSettings(env, (path) => Deno.readTextFileSync(path), false);
const opened = await openStore(settings.kv, systemClock);
const ports = systemPorts(() => settings.config.outbound.allow_private_targets, {
  tracing: await openTracing(Deno.env.toObject()),
});
const running = await startRelay(
  opened,
  { ...settings, ...secretsOf(settings, ports.entropy, false) },
  ports,
);
const onListen = ({ port }: { port: number }) =>
  console.log(JSON.stringify({ port, kv: env.RELAY_KV }));
const { services } = serveMcp(running.app, [...routes, ...moreTools(Number(Deno.args[1] ?? 0))]);
const handler = mount(running.app, [...routes, ...ownRoutes()], upgrades, services);
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
      tool: { name: `more_tool_${n}`, destructive: false },
      handle: () => ({ n }),
    }));
}

/** What only benchmarks ask for. */
function ownRoutes(): Route[] {
  return [
    route({
      id: "bench.event",
      method: "POST",
      path: "/bench/events",
      summary: "Make an event of some size",
      access: { signedIn: true },
      effect: "write",
      audit: { byRule: "the one that is asked for" },
      body: z.strictObject({
        type: z.enum(["agent_created", "agent_deleted"]),
        id: z.string(),
        pad: z.string(),
      }),
      success: { status: 204, about: z.null() },
      faults: [],
      handle: (work, { body: { type, id, pad } }) => {
        const { tx, actor: { tenant } } = work;
        const resource = { type: "agent", id } as const;
        const details = { command_id: id, pad };
        tx.append(tenant, type, eventJson(work, tenant, { type, resource, details }));
        return null;
      },
    }),
    route({
      id: "bench.memory",
      method: "GET",
      path: "/bench/memory",
      summary: "Memory in use, in bytes, after a collection of garbage",
      access: { public: "a benchmark" },
      effect: "read",
      success: { status: 200, body: z.object({ rss: z.number(), used: z.number() }) },
      faults: [],
      handle: async () => {
        const { gc } = globalThis as unknown as { gc: () => void };
        gc();
        await systemClock.sleep(100); // what it freed outside of the heap is swept beside us
        gc();
        const { rss, heapUsed, external } = Deno.memoryUsage();
        return { rss, used: heapUsed + external };
      },
    }),
  ];
}
