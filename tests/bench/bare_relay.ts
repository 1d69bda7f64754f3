import { Hono } from "@hono/hono";
import { AGENT_PROTOCOL } from "../../core/protocol/protocol.ts";

/** The least that can be called a relay: a request goes to an agent's WebSocket, its answer comes back. */
const app = new Hono();
const waiting = new Map<string, (answer: unknown) => void>();
let agent: WebSocket | null = null;

app.get("/ws", (c) => {
  const { socket, response } = Deno.upgradeWebSocket(c.req.raw, { protocol: AGENT_PROTOCOL });
  agent = socket;
  socket.onopen = () => socket.send('{"type":"welcome","agent_id":"x"}');
  socket.onmessage = ({ data }) => {
    const answer = JSON.parse(data);
    waiting.get(answer.command_id)?.(answer);
    waiting.delete(answer.command_id);
  };
  return response;
});
app.get("/api/exec/:id", async (c) => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const command_id = crypto.randomUUID();
  waiting.set(command_id, resolve);
  agent!.send(JSON.stringify({ type: "run", command_id, command: c.req.query("command") }));
  return c.json(await promise as object);
});
const onListen = ({ port }: { port: number }) => console.log(JSON.stringify({ port }));
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen }, app.fetch);
