import { runProgram, type Serving } from "./core/cli/cli.ts";

const hosted = Deno.env.get("DENO_DEPLOYMENT_ID") !== undefined ||
  Deno.env.get("DENO_DEPLOY") !== undefined;
let housekeep: (() => Promise<void>) | null = null;

// The hosting platform finds schedules only at the top level; elsewhere the relay has its own timer.
const schedule = new AbortController();
Deno.cron("relay housekeeping", "* * * * *", { signal: schedule.signal }, () => housekeep?.());

if (import.meta.main || hosted) {
  if (!hosted) schedule.abort();
  const code = await runProgram(Deno.args, { env: Deno.env.toObject(), serving });
  if (!hosted) Deno.exit(code);
}

/** The endpoints and MCP in front of a relay. */
async function serving(): Promise<Serving> {
  const { serveMcp } = await import("./mcp/endpoint.ts");
  const { mount } = await import("./routes/http/mount.ts");
  const { routes, upgrades } = await import("./routes/index.ts");
  return {
    hosted,
    front({ app }) {
      const mcp = serveMcp(app, routes);
      return { handler: mount(app, routes, upgrades, mcp.services), close: () => mcp.close() };
    },
    started: (running) => housekeep = running.housekeep,
  };
}
