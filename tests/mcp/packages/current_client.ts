import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { driveClient, type Place, progressBy } from "./drive.ts";

const transportTo = (place: Place) =>
  "url" in place
    ? new StreamableHTTPClientTransport(new URL(place.url), {
      requestInit: { headers: { authorization: `Bearer ${place.key}` } },
    })
    : new StdioClientTransport(place);

/** The official client of the current revision. */
await driveClient("@modelcontextprotocol/client", async (place) => {
  const client = new Client({ name: "relay-test", version: "1.0.0" }, {
    versionNegotiation: { mode: "auto" },
  });
  const transport = transportTo(place);
  await client.connect(transport);
  return {
    revision: () => client.getNegotiatedProtocolVersion() ?? "none",
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) =>
      client.callTool({ name, arguments: args }, { onprogress: () => {} }) as never,
    readResource: async (uri) => (await client.readResource({ uri })).contents.length,
    close: () => client.close(),
    told: progressBy(transport),
  };
});
