import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { driveClient, type Place, progressBy } from "./drive.ts";

const transportTo = (place: Place) =>
  "url" in place
    ? new StreamableHTTPClientTransport(new URL(place.url), {
      requestInit: { headers: { authorization: `Bearer ${place.key}` } },
    })
    : new StdioClientTransport(place);

/** The official client of the revisions with sessions. */
await driveClient("@modelcontextprotocol/sdk", async (place) => {
  const client = new Client({ name: "relay-test", version: "1.0.0" });
  const transport = transportTo(place);
  await client.connect(transport);
  return {
    revision: () =>
      transport instanceof StdioClientTransport ? "lines" : transport.protocolVersion ?? "none",
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) =>
      client.callTool({ name, arguments: args }, undefined, { onprogress: () => {} }) as never,
    readResource: async (uri) => (await client.readResource({ uri })).contents.length,
    async close() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      await client.close();
    },
    told: progressBy(transport),
  };
});
