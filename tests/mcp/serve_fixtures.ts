import { parseArgs } from "node:util";
import { serve } from "../../core/cli/serve.ts";
import { serveMcp } from "../../mcp/endpoint.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { fixtures } from "./fixtures/fixtures.ts";

/**
 * A relay on loopback, in memory, with the tools, resources and prompts that the MCP conformance suite
 * looks for: `deno run -A tests/mcp/serve_fixtures.ts --port 9081`.
 */
const { values } = parseArgs({ options: { port: { type: "string", default: "9081" } } });
Deno.env.set("RELAY_HOST", "127.0.0.1");
Deno.env.set("RELAY_PORT", values.port);
Deno.env.set("RELAY_KV", ":memory:");
const code = await serve({
  hosted: false,
  front({ app }) {
    const mcp = serveMcp(app, routes, fixtures);
    return { handler: mount(app, routes, upgrades, mcp.services), close: () => mcp.close() };
  },
  started() {},
});
Deno.exit(code);
