import { forbidding, withRepository } from "../policies/git_fixtures.ts";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { agents } from "../../kv/records/agent.ts";
import { linkAgent } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";
import { type Json, rpc } from "./client.ts";

const modern = (as?: string) => ({ as, style: "modern" as const });

Deno.test("discover: answers revision, capabilities and server name, and may be cached", async () => {
  await using world = await World.open();
  const { result } = (await rpc(world, "server/discover", {}, modern())).body;
  deq(result.supportedVersions, ["2026-07-28"]);
  ok(result.capabilities.extensions["io.modelcontextprotocol/tasks"]);
  eq(result._meta["io.modelcontextprotocol/serverInfo"].name, "relay");
  deq([result.cacheScope, Number.isInteger(result.ttlMs)], ["public", true]);
});

Deno.test("cache hints: every list and read has them, and only the anonymous list is public", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const lists: [string, Json][] = [
    ["tools/list", {}],
    ["prompts/list", {}],
    ["resources/list", {}],
    ["resources/templates/list", {}],
    ["resources/read", { uri: "relay://agents" }],
  ];
  for (const [method, params] of lists) {
    const { result } = (await rpc(world, method, params, modern(token))).body;
    deq([result.cacheScope, Number.isInteger(result.ttlMs)], ["private", true], method);
  }
  eq((await rpc(world, "tools/list", {}, modern())).body.result.cacheScope, "public");
});

Deno.test("resources: equal the answers of their tools, for callers of those tools", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const read = async (uri: string, as = owner.token) =>
    (await rpc(world, "resources/read", { uri }, modern(as))).body;
  const all = (await rpc(world, "resources/list", {}, modern(owner.token))).body.result.resources;
  for (const { uri } of all) {
    const [content] = (await read(uri)).result.contents;
    deq([content.uri, content.mimeType], [uri, "application/json"]);
    ok(JSON.parse(content.text));
  }
  const [one] = (await read(`relay://agents/${agent.id}`)).result.contents;
  eq(JSON.parse(one.text).id, agent.id);
  for (
    const uri of [
      "relay://agents/agt_missing",
      "relay://agents/",
      "relay://policies/pol_missing",
      "test://static-text",
      "",
    ]
  ) {
    const { error } = await read(uri);
    deq([error.code, error.data.uri], [-32602, uri]);
  }
  const git = await withRepository(world, {}, owner);
  await git.host.commit({ "policies/a.yaml": forbidding("nmap") });
  eq((await git.apply()).status, 200);
  const [list] = (await read("relay://policies")).result.contents;
  const [policy] = JSON.parse(list.text).policies;
  const [shown] = (await read(`relay://policies/${policy.id}`)).result.contents;
  eq(JSON.parse(shown.text).document.rules[0].id, "no-nmap");
  const { value } = await world.key(owner, ["agents:read"]);
  const listed = (await rpc(world, "resources/list", {}, modern(value))).body.result.resources;
  deq(listed.map(({ uri }: Json) => uri), ["relay://agents"]);
  const refused = await rpc(world, "resources/read", { uri: "relay://audit" }, modern(value));
  deq([refused.status, refused.body.error.data.code], [403, "INSUFFICIENT_SCOPES"]);
});

Deno.test("prompts: each uses its arguments and refuses missing ones", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { prompts } = (await rpc(world, "prompts/list", {}, modern(token))).body.result;
  eq(prompts.length, 3);
  for (const { name, arguments: takes } of prompts) {
    const args = Object.fromEntries(takes.map((one: Json) => [one.name, `<${one.name}>`]));
    const get = (params: Json) => rpc(world, "prompts/get", params, modern(token));
    const { result } = (await get({ name, arguments: args })).body;
    const { text } = result.messages[0].content;
    for (const said of Object.values(args)) ok(text.includes(said), `${name} ${said}`);
    eq((await get({ name })).body.error.code, -32602);
    eq((await get({ name, arguments: { ...args, agent_id: 7 } })).body.error.code, -32602);
  }
  const unknown = await rpc(world, "prompts/get", { name: "nope" }, modern(token));
  eq(unknown.body.error.code, -32602);
});

Deno.test("completions: offer ids that the caller may list, by their beginning", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const complete = async (value: string, as = owner.token) => {
    const ref = { type: "ref/prompt", name: "investigate_alert" };
    const params = { ref, argument: { name: "agent_id", value } };
    return (await rpc(world, "completion/complete", params, modern(as))).body.result.completion;
  };
  deq((await complete("agt_")).values, [agent.id]);
  deq((await complete("nope")).values, []);
  const { value } = await world.key(owner, ["catalog:read"]);
  deq((await complete("agt_", value)).values, []);
  const bad = await rpc(world, "completion/complete", { ref: 1 }, modern(owner.token));
  eq(bad.body.error.code, -32602);
});

Deno.test("completions: give the total or that there are more, and find every id", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const tenant = { org: owner.org, space: "live" } as const;
  const { store } = world.app;
  const registered = (await store.get(agents, tenant, agent.id))!;
  const register = (from: number, to: number) =>
    Promise.all(Array.from({ length: to - from }, (_, n) => {
      const id = `agt_${`${from + n}`.padStart(4, "0")}`;
      const record = { ...registered, id, public_key: id, name: `web-${from + n}-x` };
      return store.transact((tx) => void tx.insert(agents, tenant, record));
    }));
  const complete = async (value: string) => {
    const ref = { type: "ref/prompt", name: "investigate_alert" };
    const params = { ref, argument: { name: "agent_id", value } };
    const { body } = await rpc(world, "completion/complete", params, modern(owner.token));
    const { values, ...rest } = body.result.completion;
    return [values.length, rest];
  };
  await register(0, 150);
  deq(await complete("agt_"), [100, { total: 151, hasMore: true }]);
  deq(await complete("agt_00"), [100, { total: 100, hasMore: false }]);
  await register(150, 1_100);
  deq(await complete("agt_"), [100, { hasMore: true }]);
  deq(await complete("agt_0000"), [1, { total: 1, hasMore: false }]);
});

Deno.test("metadata: follows RFC 9728 for both resources, at the challenge's address", async () => {
  await using world = await World.open({
    settings: { local: false, publicUrl: "https://relay.example" },
  });
  for (const path of ["/mcp", "/mcp/stream"]) {
    const challenge = (await rpc(world, "resources/list", {}, { path })).headers
      .get("www-authenticate")!;
    const [, where] = /resource_metadata="([^"]+)"/.exec(challenge)!;
    eq(where, `https://relay.example/.well-known/oauth-protected-resource${path}`);
    const response = await world.send(new Request(where!));
    eq(response.status, 200);
    const body = await response.json();
    eq(body.resource, `https://relay.example${path}`);
    deq(body.bearer_methods_supported, ["header"]);
    deq(body.scopes_supported, SCOPE_LIST);
  }
  const root = await world.send(
    new Request("https://relay.example/.well-known/oauth-protected-resource"),
  );
  eq((await root.json()).resource, "https://relay.example/mcp");
});

Deno.test("metadata: an expired credential gets it too", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  world.clock.advance(2 * 60 * 60 * 1000);
  for (const as of [token, "svc_live_nope", "anything"]) {
    const answer = await world.raw("GET", "/.well-known/oauth-protected-resource/mcp", { as });
    eq(answer.status, 200, as);
    await answer.body!.cancel();
  }
});
