import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import type { Walk } from "./world.ts";

/** A receiver on this machine, with the bodies that arrive at it. */
function receiver() {
  const bodies: string[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    bodies.push(await request.text());
    arrived.resolve();
    arrived = Promise.withResolvers();
    return new Response();
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/hook`,
    async next(type: string) {
      for (;;) {
        const body = bodies.shift();
        if (body === undefined) await arrived.promise;
        else if (JSON.parse(body).event_type === type) return JSON.parse(body);
      }
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** The names of the fields of JSON that a page shows, also where it leaves some out. */
const fieldsIn = (text: string) => [...text.matchAll(/"(\w+)":/g)].map(([, name]) => name!);

/** The walks over the pages about events, alerts and what receives them. */
export const EVENTS: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  async "webhooks.md"(walk) {
    const { world } = walk;
    await using hooks = receiver();
    await using forwarded = receiver();
    const created = await walk.run("/api/v1/webhooks ", { KEY: world.key }, {
      "https://hooks.example.com/relay": hooks.url,
    });
    match(JSON.parse(created.stdout).secret, /^whsec_/);
    const listening = walk.start("relay listen", world.owner.env, {
      "http://localhost:3000/hook": forwarded.url,
    });
    await listening.until(/whsec_/);
    // It forwards what comes after its first request.
    await world.relay.until(/"route":"\/api\/v1\/events"/);
    await world.denied("web-1");
    const sent = await hooks.next("command_denied");
    const shown = JSON.parse(walk.text('"event_id"'));
    deq(Object.keys(sent).sort(), Object.keys(shown).sort());
    for (const name of Object.keys(shown.payload)) ok(name in sent.payload, name);
    deq((await forwarded.next("command_denied")).payload, sent.payload);
    await listening.stop();
  },

  async "alerts.md"(walk) {
    const { world } = walk;
    const env = { KEY: world.key, RELAY_KEY: world.key };
    const events = world.machine.start(
      'curl -sN -H "authorization: Bearer $KEY" "$RELAY/api/events?types=changed"',
      env,
    );
    await events.until(/event: hello/);
    const imported = await walk.run("/api/shield/ingest", env);
    // The event has its place in a story once streams know of it.
    await events.until(/"resource_type":"alert_source"/);
    await events.stop();
    eq(JSON.parse(imported.stdout).accepted, 1);
    const { body } = await world.owner.api<{ alerts: { alert_id: string }[] }>(
      "GET",
      "/api/shield/alerts",
    );
    const story = await walk.run("/api/audit?thread=", env, { alr_0m3x: body.alerts[0]!.alert_id });
    ok(JSON.parse(story.stdout).events.length > 0);
    match((await walk.run("/api/v1/ingest-tokens", env)).stdout, /svc_ingest_/);
  },

  async "streams.md"(walk) {
    const { world } = walk;
    const { machine } = world;
    const env = { KEY: world.key, AGENT: "web-1" };
    const events = walk.start("/api/events?types=", env);
    await events.until(/event: hello/);
    const { command_id } = await world.exec("web-1", "echo one");
    await events.until(/"event_type":"command_executed"/);
    await events.stop();

    const changes = machine.start(
      'curl -sN -H "authorization: Bearer $KEY" "$RELAY/api/events?types=changed"',
      env,
    );
    await changes.until(/event: hello/);
    await world.owner.api("PATCH", "/api/v1/agents/web-1", { labels: { zone: "a" } });
    const changed = walk.text("event: changed").replace("agt_0m3x4", '[^"]+');
    await changes.until(RegExp(changed.trim()));
    await changes.stop();

    // The output of a command that has ended: the stream ends by itself.
    const { stdout } = await walk.run("/output", { ...env, COMMAND: command_id! });
    const shown = walk.text("event: status").trim().split("\n\n");
    for (const message of shown) {
      const [, event] = /^event: (\w+)/.exec(message)!;
      const sent = stdout.split("\n\n").find((each) => each.includes(`event: ${event}`));
      ok(sent !== undefined, `${event}: ${stdout}`);
      deq(fieldsIn(message).filter((name) => !fieldsIn(sent).includes(name)), [], event);
    }

    const lines = walk.text('"type":"follow"').trim().split("\n");
    const { body: agent } = await world.owner.api<{ id: string }>("GET", "/api/v1/agents/web-1");
    const socket = new WebSocket(`${world.url.replace("http", "ws")}/ws`, {
      protocols: ["relay.events.v1", `relay.bearer.${world.key}`],
    });
    const sent = lines[0]!.slice(2).replace("cmd_1", command_id!).replace("agt_1", agent.id);
    const wanted = lines.slice(1).map((line) => line.slice(2));
    socket.onopen = () => socket.send(sent);
    const answered = Promise.withResolvers<void>();
    socket.onmessage = ({ data }) => {
      if (JSON.parse(data).command_id !== command_id) return;
      const next = wanted.shift()!;
      try {
        eq(JSON.parse(data).type, /"type":"(\w+)"/.exec(next)![1]);
        deq(fieldsIn(next).filter((name) => !fieldsIn(data).includes(name)), [], data);
        if (wanted.length === 0) answered.resolve();
      } catch (error) {
        answered.reject(error);
      }
    };
    await answered.promise;
    const closed = Promise.withResolvers<unknown>();
    socket.onclose = closed.resolve;
    socket.close();
    await closed.promise;
  },
};
