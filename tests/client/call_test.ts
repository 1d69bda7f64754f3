import { deepStrictEqual as deq, rejects, strictEqual as eq } from "node:assert/strict";
import { createClient, RelayError } from "../../core/client/client.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { recordedPlatform, refusal, scriptedFetch } from "./fixtures.ts";

const URL = "https://relay.example.com";
const lost = () => new TypeError("connection reset");

function scripted(...steps: readonly (Response | Error)[]) {
  const { fetch, sent } = scriptedFetch(steps);
  const platform = recordedPlatform();
  return { relay: createClient({ url: `${URL}/`, fetch, token: "t", platform }), sent, platform };
}

/** A client whose requests go through a whole relay. */
const clientOf = (world: World, token: string | null = null) =>
  createClient({
    url: "http://localhost",
    token,
    fetch: (url, init) => world.send(new Request(url as string, init)),
  });

const failure = async (call: Promise<unknown>): Promise<RelayError> => {
  const error = await call.then(() => null, (error) => error);
  if (error instanceof RelayError) return error;
  throw new Error(`it did not fail with a RelayError: ${error}`);
};

Deno.test("client.call: inputs reach a relay, and its answers come back", async () => {
  await using world = await World.open();
  const { token, email } = await world.signUp();
  const relay = clientOf(world, token);
  eq((await relay.call("account.info")).user.email, email);
  const key = await relay.call("api_keys.create", {
    body: { name: "a key", scopes: ["agents:read"] },
  });
  const { pagination } = await relay.call("api_keys.list", { query: { limit: 1 } });
  deq([pagination.total, pagination.limit], [1, 1]);
  eq(await relay.call("api_keys.delete", { params: { id: key.id } }), undefined);
  eq(typeof await relay.call("health.metrics"), "string");
});

Deno.test("client.call: a refusal holds status, code, message, path, details and request id", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const missing = await failure(
    clientOf(world, token).call("agents.get", { params: { id: "agt/../x" } }),
  );
  deq(
    [missing.status, missing.code, missing.path],
    [404, "AGENT_NOT_FOUND", "GET /api/v1/agents/agt%2F..%2Fx"],
  );
  eq(missing.requestId, missing.details.request_id);
  const anonymous = await failure(clientOf(world).call("agents.list"));
  deq([anonymous.status, anonymous.code], [401, "MISSING_CREDENTIALS"]);
});

Deno.test("client.call: a page that is not a relay's is UNREADABLE, also with status 200", async () => {
  const page = (status: number) => new Response("<html>", { status });
  eq((await failure(scripted(page(404)).relay.call("agents.list"))).code, "UNREADABLE");
  const headers = { "content-type": "application/json" };
  const broken = scripted(new Response("<html>", { headers }));
  eq((await failure(broken.relay.call("agents.list"))).code, "UNREADABLE");
});

Deno.test("client.call: a read is repeated after 429, 503 and a lost connection, as Retry-After asks", async () => {
  const { relay, sent, platform } = scripted(
    refusal(429, "RATE_LIMIT_EXCEEDED", { "retry-after": "2" }),
    lost(),
    Response.json({ agents: [] }),
  );
  deq(await relay.call("agents.list"), { agents: [] });
  eq(sent.length, 3);
  eq(platform.slept[0], 2000);
});

Deno.test("client.call: a change without an Idempotency-Key is never repeated", async () => {
  for (const step of [refusal(503, "UNAVAILABLE"), refusal(429, "RATE_LIMIT_EXCEEDED"), lost()]) {
    const { relay, sent } = scripted(step);
    await failure(relay.call("api_keys.create", { body: { name: "k", scopes: [] } }));
    eq(sent.length, 1);
  }
});

Deno.test("client.call: a command is repeated with the same Idempotency-Key, also a given one", async () => {
  const { relay, sent } = scripted(lost(), refusal(503, "UNAVAILABLE"), Response.json({}));
  const input = { params: { agent_id: "a" }, query: { command: "uptime" } };
  await relay.call("commands.exec", input);
  deq(sent.map(({ headers }) => headers.get("idempotency-key")), ["key-1", "key-1", "key-1"]);
  const again = scripted(Response.json({}));
  await again.relay.call("commands.exec", { ...input, idempotencyKey: "mine" });
  eq(again.sent[0]!.headers.get("idempotency-key"), "mine");
});

Deno.test("client.call: a repeated command runs once", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  let losing = true;
  const relay = createClient({
    url: "http://localhost",
    token: owner.token,
    platform: recordedPlatform(),
    async fetch(url, init) {
      const response = await world.send(new Request(url as string, init));
      if (!losing) return response;
      losing = false;
      await response.body?.cancel();
      throw lost();
    },
  });
  const agent = await ScriptedAgent.connect(
    world,
    (await world.key(owner, ["agents:admin"])).value,
  );
  const params = { agent_id: agent.id };
  const { stdout } = await relay.call("commands.exec", { params, query: { command: "uptime" } });
  eq(stdout, "done\n");
  const ran = (await world.trail(owner)).filter((type) => type === "command_executed");
  eq(ran.length, 1);
});

Deno.test("client.call: it gives up after three attempts, and at once when the wait is over 30 s", async () => {
  const thrice = scripted(lost(), lost(), lost());
  eq((await failure(thrice.relay.call("agents.list"))).code, "UNREACHED");
  eq(thrice.sent.length, 3);
  const long = scripted(refusal(429, "RATE_LIMIT_EXCEEDED", { "retry-after": "31" }));
  eq((await failure(long.relay.call("agents.list"))).retryAfterMs, 31_000);
  eq(long.sent.length, 1);
});

Deno.test("client.call: other refusals are not repeated", async () => {
  for (const [status, code] of [[500, "INTERNAL_ERROR"], [404, "NOT_FOUND"]] as const) {
    const { relay, sent } = scripted(refusal(status, code));
    deq((await failure(relay.call("agents.list"))).details, { why: "a test" });
    eq(sent.length, 1);
  }
});

Deno.test("client.call: an abort by the caller rejects with the signal's reason and ends the retries", async () => {
  const controller = new AbortController();
  const { relay, sent, platform } = scripted(refusal(503, "UNAVAILABLE"));
  const sleep = platform.sleep;
  platform.sleep = (ms, signal) => {
    controller.abort(new Error("enough"));
    return sleep(ms, signal);
  };
  await rejects(relay.call("agents.list", { signal: controller.signal }), /^Error: enough$/);
  eq(sent.length, 1);
});
