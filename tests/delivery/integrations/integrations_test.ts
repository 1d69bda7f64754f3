import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { CATALOG, INTEGRATION_TYPES } from "../../../core/delivery/integrations/catalog.ts";
import { performJob } from "../../../core/delivery/integrations/perform_job.ts";
import { repositoryCredentialOf } from "../../../core/delivery/integrations/repository.ts";
import { integrationJobs } from "../../../kv/records/integration.ts";
import { queueHeads } from "../../../kv/store/iterate.ts";
import { World } from "../../support/world.ts";
import { exec, linkAgent } from "../../support/linked_agent.ts";
import { rpc } from "../../mcp/client.ts";
import { withRepository } from "../../policies/git_fixtures.ts";
import { install, installed, INTEGRATIONS, shown } from "./fixtures.ts";
import { rawRows } from "../../support/raw_rows.ts";

const ROUTING_KEY = "0123456789abcdef0123456789abcdef";

/** A valid configuration of each type with its secrets. */
const RIGHT: Readonly<Record<keyof typeof CATALOG, Record<string, unknown>>> = {
  slack: { bot_token: "xoxb-sealed", channel: "C1" },
  telegram: { bot_token: "123456:sealed", chat_id: 5 },
  pagerduty: { routing_key: ROUTING_KEY },
  webhook: { url: "https://in.example.com/x", secret: "sealed-sealed-sealed" },
  github: { token: "ghp_sealed" },
  gitlab: { token: "glpat-sealed", url: "https://git.example.com/" },
  gitea: { client_id: "relay", client_secret: "sealed-secret" },
  jira: {
    url: "https://example.atlassian.net",
    email: "a@example.com",
    api_token: "sealed-token",
    project: "OPS",
  },
  oauth2: { issuer: "https://login.example.com", client_id: "relay", client_secret: "sealed-x" },
};

Deno.test("integrations: each type is installed, its secrets sealed and masked everywhere, and deleted", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (const type of INTEGRATION_TYPES) {
    const config = RIGHT[type];
    const answer = await install(world, owner, type, config);
    eq(answer.status, 201, answer.text);
    deq(answer.body, await shown(world, owner, answer.body.id));
    eq(answer.body.status, answer.body.oauth ? "pending" : "active");
    for (const field of CATALOG[type].secrets as readonly string[]) {
      eq(answer.body.config[field], config[field] === undefined ? undefined : "********");
    }
    deq(answer.body.config.topics, CATALOG[type].notify && answer.body.config.topics);
  }
  const list = await world.call("GET", INTEGRATIONS, { as: owner.token });
  eq(list.body.pagination.total, INTEGRATION_TYPES.length);
  const trail = await world.call("GET", "/api/audit?limit=200", { as: owner.token });
  await world.settle();
  const stored: unknown[] = [];
  for (const { value } of await rawRows(world.kv)) stored.push(value);
  const decoded = stored.map((value) =>
    value instanceof Uint8Array ? new TextDecoder().decode(value) : value
  );
  for (const text of [list.text, trail.text, JSON.stringify(decoded, big)]) {
    ok(!text.includes("sealed-") && !text.includes("_sealed") && !text.includes(ROUTING_KEY));
  }
  for (const { id } of list.body.integrations) {
    const path = `${INTEGRATIONS}/${id}`;
    eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
    eq((await world.call("DELETE", path, { as: owner.token })).status, 404);
  }
  eq((await world.call("GET", INTEGRATIONS, { as: owner.token })).body.pagination.total, 0);
  eq(world.network.sent.length, 0);
});

const big = (_key: string, value: unknown) => typeof value === "bigint" ? `${value}` : value;

Deno.test("integrations: nobody installs one that receives more than they may read", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const ask = async (scopes: string[], topics: string[]) => {
    const { value: as } = await world.key(owner, ["system:write", ...scopes]);
    const body = { type: "slack", config: { ...RIGHT.slack, topics } };
    const answer = await world.call("POST", INTEGRATIONS, { as, body });
    return answer.status === 201 ? 201 : answer.body.error.details.required;
  };
  deq(await ask([], ["approvals"]), ["approvals:read"]);
  deq(await ask(["approvals:read", "agents:read"], ["approvals", "alerts"]), ["system:read"]);
  deq(await ask(["agents:read", "system:read"], ["alerts", "reports"]), ["compliance:read"]);
  const list = await world.call("GET", INTEGRATIONS, { as: owner.token });
  eq(list.body.pagination.total, 0);
  eq(await ask([], []), 201);
  eq(await ask(["approvals:read"], ["approvals"]), 201);
  eq(await ask(["agents:read", "system:read", "compliance:read"], ["alerts", "reports"]), 201);
  // Nobody connects another person's integration with an account of their own.
  const client = { client_id: "relay", client_secret: "a-secret" };
  const config = { ...client, channel: "C1", topics: ["approvals"] };
  const integration_id = await installed(world, owner, "slack", config);
  const { value: as } = await world.key(owner, ["system:write"]);
  const path = `${INTEGRATIONS}/oauth/begin`;
  const { body: { error } } = await world.call("POST", path, { as, body: { integration_id } });
  deq([error.code, error.details.required], ["INSUFFICIENT_SCOPES", ["approvals:read"]]);
  eq(world.network.sent.length, 0);
});

Deno.test("integrations: a wrong configuration is refused with its path, and nothing is installed", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const cases: [string, Record<string, unknown>, string][] = [
    ["slack", {}, "body.config"],
    [
      "slack",
      { bot_token: "a", webhook_url: "https://x.example.com", channel: "C" },
      "body.config",
    ],
    ["slack", { bot_token: "a" }, "body.config"],
    ["slack", { webhook_url: "https://127.0.0.1/x" }, "body.config.webhook_url"],
    ["slack", { webhook_url: "ftp://x.example.com" }, "body.config.webhook_url"],
    ["slack", { webhook_url: "http://x.example.com" }, "body.config.webhook_url"],
    ["gitlab", { token: "a", url: "HTTP://git.example.com" }, "body.config.url"],
    ["slack", { bot_token: "a b", channel: "C" }, "body.config.bot_token"],
    ["slack", { ...RIGHT.slack, topics: ["gossip"] }, "body.config.topics.0"],
    ["telegram", { bot_token: "x/../y", chat_id: 1 }, "body.config.bot_token"],
    ["pagerduty", { routing_key: "short" }, "body.config.routing_key"],
    [
      "webhook",
      { url: "https://u:p@in.example.com", secret: "sixteen-characters" },
      "body.config.url",
    ],
    ["github", { token: "a", client_id: "b", client_secret: "c" }, "body.config"],
    ["gitlab", { client_id: "b" }, "body.config"],
    ["jira", { ...RIGHT.jira, project: "x/../y" }, "body.config.project"],
    ["oauth2", { client_id: "relay" }, "body.config"],
    ["oauth2", { ...RIGHT.oauth2, issuer: "http://169.254.169.254" }, "body.config.issuer"],
    ["oauth2", { ...RIGHT.oauth2, surprise: 1 }, "body.config"],
    ["carrier-pigeon", {}, "body.type"],
  ];
  for (const [type, config, path] of cases) {
    const answer = await install(world, owner, type, config);
    deq([type, config, answer.status], [type, config, 400]);
    eq(answer.body.error.details.issues[0].path, path);
  }
  const { body } = await world.call("GET", INTEGRATIONS, { as: owner.token });
  eq(body.pagination.total, 0);
});

Deno.test("integrations: an organization has at most 100", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 100; n++) await installed(world, owner, "github", { token: `t-${n}` });
  eq((await install(world, owner, "github", { token: "t" })).body.error.code, "CONFLICT");
});

Deno.test("catalog: lists every type with its schema, for every viewer, also as a tool", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["catalog:read", "secrets:read"]);
  const { body } = await world.call("GET", "/api/integrations/catalog", { as: value });
  deq(body.catalog.map(({ type }: { type: string }) => type), INTEGRATION_TYPES);
  for (const entry of body.catalog) {
    eq(entry.config_schema.type, "object");
    for (const field of entry.secrets) ok(field in entry.config_schema.properties, field);
    ok(entry.capabilities.length > 0);
  }
  const last = INTEGRATION_TYPES.length - 1;
  const page = await world.call("GET", `/api/integrations/catalog?limit=2&offset=${last}`, {
    as: value,
  });
  deq([page.body.catalog.length, page.body.pagination.has_more], [1, false]);
  const { body: { result } } = await rpc(world, "tools/list", {}, { as: value });
  const names = result.tools.map(({ name }: { name: string }) => name);
  for (const name of ["list_integration_catalog", "list_secrets"]) {
    ok(names.includes(name), `${names}`);
  }
});

Deno.test("secrets: lists names, types, ages and last use, and no value", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = owner.token;
  const id = await installed(world, owner, "github", { token: "ghp_sealed" });
  await world.call("POST", "/api/v1/webhooks", {
    as,
    body: {
      name: "hook",
      url: "https://hooks.example.com/x",
      secret: "the secret of a hook",
      events: ["command_executed"],
      headers: { "x-token": "the secret of a header" },
    },
  });
  const tenant = { org: owner.org, space: "live" } as const;
  const usedAt = new Date(world.clock.now()).toISOString();
  eq((await repositoryCredentialOf(world.app, tenant, "GITHUB.com"))?.password, "ghp_sealed");
  world.clock.advance(26 * 60 * 60 * 1000);
  const login = { email: owner.email, password: "password 1" };
  const { token } = (await world.call("POST", "/api/v1/login", { body: login })).body;
  const key = await world.key({ ...owner, token }, ["secrets:read"]);
  const revoked = await world.key({ ...owner, token }, ["secrets:read"]);
  await world.call("POST", `/api/v1/api-keys/${revoked.id}/revoke`, { as: token });
  const { body, text } = await world.call("GET", "/api/v1/secrets", { as: key.value });
  deq(
    body.secrets.map(({ type, holds, status, age_days }: never) => [type, holds, status, age_days]),
    [
      ["api_key", ["value"], "active", 0],
      ["api_key", ["value"], "revoked", 0],
      ["webhook", ["secret", "headers.x-token"], null, 1],
      ["integration", ["token"], null, 1],
    ],
  );
  deq([body.secrets[3].id, body.secrets[3].last_used_at], [id, usedAt]);
  for (const value of [key.value, "ghp_sealed", "the secret of"]) ok(!text.includes(value));
  const page = await world.call("GET", "/api/v1/secrets?limit=1&offset=1", { as: key.value });
  deq(page.body.secrets, [body.secrets[1]]);
  deq(page.body.pagination, { total: 4, limit: 1, offset: 1, has_more: true });
  const last = await world.call("GET", "/api/v1/secrets?limit=1&offset=3", { as: key.value });
  deq([last.body.secrets, last.body.pagination.has_more], [[body.secrets[3]], false]);
  const stranger = await world.signUp();
  const theirs = await world.call("GET", "/api/v1/secrets", { as: stranger.token });
  eq(theirs.body.pagination.total, 0);
});

Deno.test("repositoryCredentialOf: returns the organization's newest working credentials for the host", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const of = (org: string, host: string) =>
    repositoryCredentialOf(world.app, { org, space: "live" }, host);
  await installed(world, owner, "gitlab", { token: "first", url: "https://git.example.com:8443" });
  const second = await installed(world, owner, "gitlab", {
    token: "second",
    url: "https://git.example.com:8443/",
  });
  await installed(world, owner, "gitea", {
    client_id: "x",
    client_secret: "y",
    url: "https://git.example.com:8443",
  });
  deq(await of(owner.org, "git.example.com:8443"), {
    username: "oauth2",
    password: "second",
    integrationId: second,
  });
  eq(await of(owner.org, "git.example.com"), null);
  eq(await of(owner.org, "github.com"), null);
  eq(await of(stranger.org, "git.example.com:8443"), null);
});

Deno.test("integrations: a message whose process died in every attempt fails and is recorded", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const id = await installed(world, here.owner, "github", { token: "t" });
  await installed(world, here.owner, "slack", { webhook_url: "https://hooks.example.com/x" });
  world.network.reply = () => 500;
  await exec(world, here, "rm -rf /");
  await world.settle();
  const tenant = { org: here.owner.org, space: "live" } as const;
  const { items: [found] } = await world.app.store.queued(integrationJobs, "due", { limit: 1 });
  const lost = { ...found!.record, status: "sending" as const, attempt: 5 };
  await world.app.store.transact(async (tx) => {
    await tx.get(integrationJobs, tenant, lost.id);
    tx.put(integrationJobs, tenant, { ...lost, due_at_ms: world.clock.now() });
  });
  const sent = world.network.sent.length;
  world.app.integrations.wake();
  await world.settle();
  eq(world.network.sent.length, sent);
  match((await world.trail(here.owner)).join(), /integration_failed/);
  eq((await shown(world, here.owner, id)).last_error, null);
});

Deno.test("integrations: an expired job is deleted and sends nothing", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  await installed(world, here.owner, "slack", { webhook_url: "https://hooks.example.com/x" });
  world.network.reply = () => 500;
  await exec(world, here, "rm -rf /");
  await world.settle();
  const heads = () => Array.fromAsync(queueHeads(world.app.store, integrationJobs, "due"));
  const [{ tenant, key }] = await heads() as [Awaited<ReturnType<typeof heads>>[0]];
  world.clock.nowMs += 7 * 24 * 60 * 60 * 1000;
  const sent = world.network.sent.length;
  await performJob({ ...world.app, origin: "" }, tenant, key.at(-1) as string);
  deq(await heads(), []);
  eq(world.network.sent.length, sent);
});

Deno.test("integrations: a message postponed by a clock far ahead is sent once the clock is right", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const id = await installed(world, here.owner, "slack", {
    webhook_url: "https://hooks.example.com/x",
  });
  const rightMs = world.clock.nowMs;
  world.network.reply = () => {
    world.clock.nowMs = rightMs + 2 * 24 * 60 * 60 * 1000;
    return 500;
  };
  await exec(world, here, "rm -rf /");
  await world.settle();
  world.clock.nowMs = rightMs;
  eq((await shown(world, here.owner, id)).last_error, "The service answered 500.");
  world.network.reply = () => 204;
  world.app.integrations.wake();
  await world.settle();
  eq((await shown(world, here.owner, id)).last_error, null);
});

Deno.test("integrations: a repository without credentials is fetched with an integration's, only in the live space", async () => {
  await using world = await World.open();
  const here = await withRepository(world);
  const { owner, host } = here;
  await installed(world, owner, "gitlab", { token: "glpat-1", url: new URL(host.url).origin });
  world.network.sent.length = 0;
  await here.apply({ dry_run: true });
  ok(world.network.sent.length > 0);
  for (const { headers } of world.network.sent) {
    eq(headers["authorization"], `Basic ${btoa("oauth2:glpat-1")}`);
  }
  const test = { org: owner.org, space: "test" } as const;
  eq(await repositoryCredentialOf(world.app, test, new URL(host.url).host), null);
});
