import { Hono } from "@hono/hono";

/** What everything is compared with: a Hono route that answers the same JSON and does nothing else. */
const app = new Hono();
const agent = {
  id: "agt_0mwpu8lfqc40dbd4e830d4a59a48160",
  name: "web-1",
  status: "online",
  reported_status: null,
  last_seen_at: "2026-01-31T12:00:00.000Z",
  connected_at: "2026-01-31T12:00:00.000Z",
  version: "0.1.0",
  platform: "linux-x86_64",
  hostname: "web-1",
  labels: {},
  policy_version: null,
  created_at: "2026-01-31T12:00:00.000Z",
};
app.get("/api/v1/agents/:id", (c) => c.json(agent));
app.post("/mcp", async (c) => {
  const { id } = await c.req.json();
  return c.json({ jsonrpc: "2.0", id, result: { structuredContent: agent } });
});
const onListen = ({ port }: { port: number }) => console.log(JSON.stringify({ port }));
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, app.fetch);
