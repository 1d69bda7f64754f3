import { parseArgs } from "node:util";
import { serve } from "../../core/cli/serve.ts";
import { serveMcp } from "../../mcp/endpoint.ts";
import { METHODS } from "../../mcp/methods.ts";
import { mount } from "../../routes/http/mount.ts";
import { failedBare } from "../../routes/http/refusal.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { withFixtures } from "./fixtures/fixtures.ts";

/**
 * A relay on loopback, in memory, with the tools, resources and prompts that the MCP conformance suite
 * looks for: `deno run -A tests/mcp/serve_fixtures.ts --port 9081`. The suite sends no credential, so each
 * request gets a key of an owner who is signed up here.
 */
const { values } = parseArgs({ options: { port: { type: "string", default: "9081" } } });
Deno.env.set("RELAY_HOST", "127.0.0.1");
Deno.env.set("RELAY_PORT", values.port);
Deno.env.set("RELAY_KV", ":memory:");
Deno.env.set("RELAY_CONFIG", JSON.stringify(NO_LIMITS));
type Handler = ReturnType<typeof mount>;

const code = await serve(() =>
  Promise.resolve({
    front({ app: relay }) {
      const { methods, takeReply } = withFixtures(relay, METHODS);
      const mcp = serveMcp(relay, routes, methods);
      const handler = mount(relay, routes, upgrades, mcp.services);
      let key: Promise<string> | null = null;
      return {
        async handler(request, info) {
          if (request.method === "POST") {
            const text = await request.clone().text();
            if (takeReply(jsonOf(text))) return new Response(null, { status: 202 });
          }
          const headers = new Headers(request.headers);
          headers.delete("authorization");
          headers.set("x-api-key", await (key ??= makeKey(handler)));
          return await handler(new Request(request, { headers }), info);
        },
        close: () => mcp.close(),
      };
    },
    refuse: failedBare,
  }), { sharePort: false, stopWithStdin: false });
Deno.exit(code);

/** Signs an owner up and returns an API key. */
async function makeKey(handler: Handler): Promise<string> {
  const post = async (path: string, body: unknown, token: string | null) => {
    const headers = {
      "content-type": "application/json",
      ...(token !== null && { authorization: `Bearer ${token}` }),
    };
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    const response = await handler(new Request(`http://localhost${path}`, init));
    if (!response.ok) throw new Error(`${path} answered ${await response.text()}`);
    return await response.json();
  };
  const owner = { email: "suite@example.com", password: "a long password", organization: "Suite" };
  const { token } = await post("/api/v1/signup", owner, null);
  const scopes = ["agents:read", "agents:write", "system:read"];
  return (await post("/api/v1/api-keys", { name: "suite", scopes }, token)).key;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
