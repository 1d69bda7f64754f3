import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { driveClient } from "./drive.ts";

/** The official client of the revisions with sessions. */
await driveClient("@modelcontextprotocol/sdk", async ({ base, key }) => {
  const client = new Client({ name: "relay-test", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  return {
    revision: () => transport.protocolVersion ?? "none",
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, onprogress) =>
      client.callTool({ name, arguments: args }, undefined, { onprogress }) as never,
    readResource: async (uri) => (await client.readResource({ uri })).contents.length,
    async close() {
      await transport.terminateSession();
      await client.close();
    },
  };
});
