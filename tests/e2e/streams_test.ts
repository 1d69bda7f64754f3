import assert from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { eventJson } from "../../core/events/events.ts";
import { WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { requestOf } from "../mcp/client.ts";
import { makeKey, signUpOwner, startRelayProcess, withFolder } from "../support/processes.ts";
import { openServer } from "../support/server.ts";

interface Message {
  readonly type: string;
  readonly id: string;
  readonly data: Record<string, unknown>;
}

/** A WebSocket that is open, and its messages one by one. */
function openSocket(url: string, protocols: string[], headers: Record<string, string> = {}) {
  const socket = new WebSocket(url, { protocols, headers });
  const waiting: Message[] = [];
  let arrived = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<{ code: number; reason: string; opened: boolean }>();
  let opened = false;
  socket.onopen = () => opened = true;
  socket.onmessage = ({ data }) => {
    waiting.push(JSON.parse(data));
    arrived.resolve();
  };
  socket.onclose = ({ code, reason }) => closed.resolve({ code, reason, opened });
  const next = async (): Promise<Message> => {
    while (waiting.length === 0) {
      arrived = Promise.withResolvers();
      await arrived.promise;
    }
    return waiting.shift()!;
  };
  return { socket, next, closed: closed.promise };
}

/** An MCP client that wants to hear of changes. */
function listenRequest(url: string, as: string): Request {
  const params = { notifications: { toolsListChanged: true } };
  const request = requestOf("subscriptions/listen", params, { as, style: "modern" });
  return new Request(`${url}/mcp`, request);
}

const CONSOLE = "https://console.example.com";
const HOOK = {
  name: "hook",
  url: "https://hooks.example.com/",
  secret: "sixteen characters",
  events: ["agent_created"],
};

Deno.test("streams of a real relay: a browser's WebSocket resumes, strangers are refused, and SIGTERM sends all on", async () => {
  await withFolder(async (folder) => {
    const { relay, url } = await startRelayProcess({
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ allowed_origins: [CONSOLE] }),
    });
    try {
      const token = await signUpOwner(clientOf(url));
      const owner = clientOf(url, token);
      const ws = `${url.replace("http", "ws")}/ws`;
      const protocols = ["relay.events.v1", `relay.bearer.${token}`];
      const first = openSocket(ws, protocols, { origin: url });
      const hello = await first.next();
      assert.deepEqual([hello.type, hello.data.recovered], ["hello", false]);
      assert.equal(first.socket.protocol, "relay.events.v1");

      const key = await makeKey(owner, ["agents:read"]);
      const plain = openSocket(ws, [], { authorization: `Bearer ${key}` });
      assert.equal((await plain.next()).type, "hello");
      first.socket.send(JSON.stringify({ type: "resume", last_event_id: hello.id }));
      const again = await first.next();
      assert.deepEqual([again.type, again.data.recovered, again.id], ["hello", true, hello.id]);

      const elsewhere = openSocket(ws, protocols, { origin: "https://evil.example.com" });
      assert.equal((await elsewhere.closed).opened, false);
      const console = openSocket(ws, protocols, { origin: CONSOLE });
      assert.equal((await console.next()).type, "hello");
      const nobody = openSocket(ws, ["relay.events.v1", "relay.bearer.wrong"]);
      assert.equal((await nobody.closed).opened, false);
      const nonsense = openSocket(ws, protocols);
      await nonsense.next();
      nonsense.socket.send('{"type":"resume","types":7}');
      assert.equal((await nonsense.closed).code, 4400);
      assert.equal((await owner("POST", "/api/v1/webhooks", HOOK)).status, 201);

      const headers = { authorization: `Bearer ${token}` };
      const stream = await fetch(`${url}/api/events`, { headers });
      const text = stream.text();
      const listening = await fetch(listenRequest(url, token));
      const listened = listening.text();
      const startedMs = performance.now();
      const { code } = await relay.stop();
      assert.equal(code, 0);
      assert.ok(performance.now() - startedMs < 5_000);
      assert.match(
        await text,
        /^event: hello[\s\S]*\nretry: \d+\nevent: end\ndata: .*"going_away"/,
      );
      assert.match(
        await listened,
        /\nretry: \d+\n\nevent: message\ndata: .*"resultType":"complete"/,
      );
      for (const { closed } of [first, plain, console]) {
        const { code, reason } = await closed;
        assert.equal(code, 1012);
        assert.match(reason, /^The relay is stopping. Retry after \d+ ms.$/);
      }
    } finally {
      await relay.kill();
    }
  });
});

Deno.test("streams: a WebSocket that resumes is replayed what its key may read now, not at its handshake", async () => {
  await using server = await openServer();
  const { app } = server.running;
  const owner = clientOf(server.url, await signUpOwner(clientOf(server.url)));
  const key = await makeKey(owner, ["agents:read", "approvals:read"]);
  const actor = await app.authenticator.authenticate(key, "live");
  const happen = async (type: string) => {
    const resource = { type: "endpoint", id: "t_1" } as const;
    const json = eventJson(
      { ...app, actor },
      actor.tenant,
      { type, resource, details: {} } as never,
    );
    await app.store.append(actor.tenant, type, json);
    await app.log.flush();
  };
  const ws = openSocket(`${server.url.replace("http", "ws")}/ws`, ["relay.events.v1"], {
    authorization: `Bearer ${key}`,
  });
  const { id } = await ws.next();
  await happen("agent_created");
  await happen("approval_requested");
  const resume = () => ws.socket.send(JSON.stringify({ type: "resume", last_event_id: id }));
  const types = async (n: number) => {
    const found: unknown[] = [];
    while (found.length < n) {
      const { type, data } = await ws.next();
      found.push(type === "event" ? data.event_type : type);
    }
    return found;
  };
  assert.deepEqual(await types(2), ["agent_created", "approval_requested"]);
  resume();
  assert.deepEqual(await types(3), ["hello", "agent_created", "approval_requested"]);
  const setScopes = (scopes: string[]) =>
    app.store.transact(async (tx) => {
      const record = await tx.get(apiKeys, actor.tenant, actor.id);
      tx.put(apiKeys, actor.tenant, { ...record!, scopes } as typeof record & object);
    });
  await setScopes(["approvals:read"]);
  resume();
  assert.deepEqual(await types(2), ["hello", "approval_requested"]);
  await setScopes([]);
  resume();
  assert.equal((await ws.closed).code, 4403);
});

Deno.test("docs/streams.md: its reader goes on after every break, and misses nothing", async () => {
  await using server = await openServer();
  const { app } = server.running;
  const token = await signUpOwner(clientOf(server.url));
  const actor = await app.authenticator.authenticate(token, "live");
  let asked = 0;
  const flaky = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    if (++asked % 4 === 2) return new Response("not now", { status: 503 });
    const { body } = await fetch(`${server.url}/api/events`, { headers: request.headers });
    return new Response(body!.pipeThrough(breakingOff(2_000)));
  });
  const page = Deno.readTextFileSync(new URL("../../docs/streams.md", import.meta.url));
  const [, recipe = ""] = /```js\n(.*?\n}\n)\nfor await/s.exec(page) ?? [];
  const { messages } = await import(`data:text/javascript,${encodeURIComponent(recipe)}`);
  const written: string[] = [];
  const happen = async () => {
    const resource = { type: "endpoint", id: `t_${written.length}` } as const;
    const details = { ...WEBHOOK_EVENTS.agent_created.example, name: "web\u2028: 1" };
    const happening = { type: "agent_created", resource, details } as const;
    const json = eventJson({ ...app, actor }, actor.tenant, happening);
    await app.store.append(actor.tenant, "agent_created", json);
    written.push(JSON.parse(json).event_id);
  };
  const seen: string[] = [];
  const recovered: boolean[] = [];
  for await (
    const { event, data } of messages(`http://127.0.0.1:${flaky.addr.port}`, token, "", 0)
  ) {
    if (event === "hello") recovered.push(data.recovered);
    assert.ok(recovered.length < 50, "it gets on");
    if (event === "hello" && recovered.length === 1) {
      for (let n = 0; n < 30; n++) await happen();
    }
    if (event === "event") seen.push(data.event_id);
    if (seen.length === 30) break;
  }
  assert.deepEqual(seen, written);
  assert.ok(recovered.length > 3 && recovered.slice(1).every(Boolean), `${recovered}`);
  await assert.rejects(
    messages(server.url + "/api/events", "svc_live_x").next(),
    /INVALID_API_KEY/,
  );
  await flaky.shutdown();
});

/** A connection that breaks after so many bytes. */
function breakingOff(
  bytes: number,
): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk.subarray(0, bytes));
      if ((bytes -= chunk.length) < 0) controller.terminate();
    },
  });
}
