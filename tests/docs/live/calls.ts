import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../../clients/status_client.ts";
import { Collector } from "../../e2e/collector.ts";
import { freePort } from "../../cluster/denokv.ts";
import { makeKey } from "../../support/processes.ts";
import type { Walk } from "./world.ts";

/** The walks over the pages about keys, limits, clients and what operators read. */
export const CALLS: Readonly<Record<string, (walk: Walk) => Promise<void>>> = {
  async "keys.md"(walk) {
    const { world } = walk;
    const created = await walk.run("/api/v1/api-keys ");
    const { id } = JSON.parse(created.stdout);
    const rotated = await walk.run("/rotate", { ...world.owner.env, ID: id });
    const { old_key } = JSON.parse(rotated.stdout);
    const answer = await fetch(`${world.url}/api/v1/agents`, {
      headers: { "x-api-key": old_key },
    });
    await answer.body!.cancel();
    for (const line of walk.text("Deprecation:").trim().split("\n")) {
      const [name] = line.split(": ");
      const shape = (value: string) =>
        value.replaceAll(/[A-Z][a-z]{2}\b/g, "Aaa").replaceAll(/\d/g, "0");
      eq(shape(`${name}: ${answer.headers.get(name!)}`), shape(line));
    }
  },

  async "limits.md"(walk) {
    const { owner } = walk.world;
    const { body: { id } } = await owner.api<{ id: string }>("POST", "/api/v1/api-keys", {
      name: "limited",
      scopes: ["agents:read"],
    });
    const { body: { organization_id } } = await owner.api<{ organization_id: string }>(
      "GET",
      `/api/admin/limits/${id}`,
    );
    const text = walk.text("<key id>");
    const ids: Record<string, string> = { "key id": id, "organization id": organization_id, id };
    for (const line of text.trim().split("\n")) {
      const [, method, of, body] = /^(\w+) \/api\/admin\/limits\/<([a-z ]+)>\s*(\{.*?\})?/.exec(
        line,
      )!;
      const path = `/api/admin/limits/${ids[of!]}`;
      const { status } = await owner.api(method as "PUT", path, body && JSON.parse(body));
      eq(status, 200, line);
    }
    // As configured again, so that it limits no other walk.
    await owner.api("PUT", `/api/admin/limits/${organization_id}`, {});
  },

  async "mcp.md"(walk) {
    const { machine, owner } = walk.world;
    const terminal = { XDG_CONFIG_HOME: `${machine.folder}/mcp` };
    const login = walk.start("relay login", terminal);
    const [code] = await login.until(/(?<=--confirm )\S+/);
    await machine.sh(`relay login --confirm ${code} --yes`, owner.env);
    await login.until(/signed in/i);
    const { stdout } = await walk.run("relay keys create");
    ok(stdout.length > 0);
    const tools = JSON.parse((await walk.run("tools/list", {})).stdout);
    ok(tools.result.tools.length > 0);
  },

  async "metrics.md"(walk) {
    await walk.run("relay keys create");
    const { stdout } = await walk.world.machine.sh(
      'curl -sf "$RELAY/metrics" -H "authorization: Bearer $(cat relay_key)"',
    );
    match(stdout, /^relay_agents_online \d/m);
  },

  async "clients.md"(walk) {
    await walk.run("export RELAY_URL");
    const { stdout } = await walk.world.machine.sh("jq -r .openapi openapi.json");
    match(stdout, /^3\.1/);
  },

  async "typescript.md"(walk) {
    const { machine, key } = walk.world;
    const root = new URL("../../../", import.meta.url).pathname;
    const from = { "./core/client/client.ts": `${root}core/client/client.ts` };
    const call = walk.text("RelayError", { ...from, "svc_live_…": key });
    const stream = walk.text("relay.stream").replace("  console", "  stop.abort();\n  console");
    const webhook = walk.text("whsec_…", from);
    await Deno.writeTextFile(
      `${machine.folder}/example.ts`,
      `${call}\nconsole.log(result.stdout, RelayError.name);\n${stream}`,
    );
    await Deno.writeTextFile(
      `${machine.folder}/webhook.ts`,
      `const request = new Request("http://localhost", { method: "POST", body: "{}" });\n${webhook}`,
    );
    const check = "deno run --check --no-config -A";
    match((await machine.sh(`${check} example.ts`)).stdout, /load average/);
    const { code, stderr } = await machine.end(`${check} webhook.ts`);
    eq(code, 1);
    // Nobody signed the body.
    match(stderr, /INVALID_SIGNATURE|signature/i);
  },

  async "telemetry.md"(walk) {
    const { world } = walk;
    await clientOf(world.url, world.key)("GET", "/api/exec/web-1?command=true");
    const [line] = await world.relay.until(/^\{.*"message":"request".*exec\/.*\}$/m);
    const shown = JSON.parse(walk.text('"message": "request"'));
    const fields = (of: object) => Object.keys(of).filter((name) => name !== "trace_id");
    deq(fields(JSON.parse(line)), fields(shown));

    await using collector = new Collector();
    const [serve, agent] = walk.text("OTEL_DENO=true", {
      "http://127.0.0.1:4318": collector.environment("relay").OTEL_EXPORTER_OTLP_ENDPOINT!,
    }).trim().split("\n");
    const port = `${freePort()}`;
    const traced = world.machine.start(serve!, {
      ...collector.environment("relay"),
      RELAY_KV: ":memory:",
      RELAY_PORT: port,
    });
    await traced.until(/ is ready /);
    const url = `http://127.0.0.1:${port}`;
    const signUp = { email: "t@example.com", password: "correct horse 7", organization: "T" };
    const { body } = await clientOf(url)<{ token: string }>("POST", "/api/v1/signup", signUp);
    const key = await makeKey(clientOf(url, body.token), ["agents:admin"]);
    const linked = world.machine.start(agent!, {
      ...collector.environment("relay-agent"),
      RELAY_URL: url,
      RELAY_TOKEN: key,
      XDG_STATE_HOME: `${world.machine.folder}/traced`,
    });
    await linked.until(/^connected to /m);
    await linked.stop();
    await traced.stop();
  },
};
