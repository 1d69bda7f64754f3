import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { driveClient } from "./drive.ts";

/** The official client of the current revision. */
await driveClient("@modelcontextprotocol/client", async ({ base, key }) => {
  const client = new Client({ name: "relay-test", version: "1.0.0" }, {
    versionNegotiation: { mode: "auto" },
  });
  const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  return {
    revision: () => client.getNegotiatedProtocolVersion() ?? "none",
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args, onprogress) =>
      client.callTool({ name, arguments: args }, { onprogress }) as never,
    readResource: async (uri) => (await client.readResource({ uri })).contents.length,
    close: () => client.close(),
  };
});
