import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { z } from "zod";

/** What benchmarks compare with: the official server, without sessions, credentials, limits or audit. */
const agent = {
  id: "agt_0mwpu8lfqc40dbd4e830d4a59a48160",
  name: "web-1",
  status: "online",
  platform: "linux-x86_64",
  created_at: "2026-01-31T12:00:00.000Z",
};

function makeServer(): McpServer {
  const server = new McpServer({ name: "bare", version: "1.0.0" });
  server.registerTool("agents_get", { inputSchema: { id: z.string() } }, () => ({
    content: [{ type: "text", text: JSON.stringify(agent) }],
    structuredContent: agent,
  }));
  return server;
}

async function handle(request: Request): Promise<Response> {
  const server = makeServer();
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return await transport.handleRequest(request);
}

const onListen = ({ port }: { port: number }) => console.log(JSON.stringify({ port }));
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, handle);
