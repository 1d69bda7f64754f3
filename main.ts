import { type Hosted, runHosted, runProgram, type Serving } from "./core/cli/cli.ts";

/** True when a hosting platform starts and ends this process. It gives no arguments. */
const hosted = Deno.args.length === 0 &&
  (Deno.env.get("DENO_DEPLOYMENT_ID") ?? Deno.env.get("DENO_DEPLOY")) !== undefined;
let platform: Promise<Hosted> | null = null;

// The hosting platform finds schedules only at the top level; elsewhere the relay has its own timer.
const schedule = new AbortController();
const { signal } = schedule;
Deno.cron("relay housekeeping", "* * * * *", { signal }, async () => (await platform)?.housekeep());

if (hosted) {
  platform = runHosted({ serving });
  (await platform).ended.then((code) => Deno.exit(code));
} else if (import.meta.main) {
  schedule.abort();
  Deno.exit(await runProgram(Deno.args, { env: Deno.env.toObject(), serving }));
}

/** The console, the guides, the endpoints and MCP in front of a relay. */
async function serving(): Promise<Serving> {
  const { serveConsole } = await import("./console/console.ts");
  const { serveGuides } = await import("./console/guides.ts");
  const { serveMcp } = await import("./mcp/endpoint.ts");
  const { mount } = await import("./routes/http/mount.ts");
  const { failedBare } = await import("./routes/http/refusal.ts");
  const { routes, upgrades } = await import("./routes/index.ts");
  return {
    front({ app }) {
      const console = serveConsole();
      const guides = serveGuides();
      const mcp = serveMcp(app, routes);
      const api = mount(app, routes, upgrades, mcp.services);
      return {
        handler: (request, info) => console(request) ?? guides(request) ?? api(request, info),
        close: () => mcp.close(),
      };
    },
    refuse: failedBare,
  };
}
