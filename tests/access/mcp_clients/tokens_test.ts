import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { mcpGrants, users } from "../../../kv/records/user.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { rawRows } from "../../support/raw_rows.ts";
import { type Answer, World } from "../../support/world.ts";
import {
  askedBy,
  beside,
  CALLBACK,
  codeBy,
  connected,
  detailsOf,
  exchange,
  oauth,
  ORIGIN,
  post,
  refresh,
  register,
  toolsOf,
} from "./fixtures.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const CLIENTS = "/api/account/mcp-clients";

Deno.test("mcp clients: a token counts at the MCP address that it was asked for, and nowhere else", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { access_token, refresh_token } = await connected(world, owner);
  const streamed = await connected(world, owner, { resource: `${ORIGIN}/mcp/stream` });
  ok((await toolsOf(world, access_token)).includes("list_agents"));
  eq(await toolsOf(world, access_token, "/mcp/stream"), "audience");
  eq(await toolsOf(world, streamed.access_token), "audience");
  for (const path of ["/api/account/info", "/api/agents", CLIENTS, "/metrics"]) {
    const answer = await world.call("GET", path, { as: access_token });
    deq([answer.status, answer.body?.error.details.reason], [401, "audience"], path);
  }
  // No credential of a client counts as another one.
  eq(await toolsOf(world, refresh_token), "malformed");
  const later = access_token.replace(/\.(\d+)\./, (_: string, ms: string) => `.${Number(ms) + 1}.`);
  eq(await toolsOf(world, later), "malformed");
});

Deno.test("mcp clients: a client works in the space of the consent, whatever it sends", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { access_token } = await connected(world, owner, {}, { space: "test" });
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "get_account", arguments: {} },
  };
  const answer = await beside(world, "POST", "/mcp", {
    as: access_token,
    body,
    headers: { "x-relay-space": "live" },
  });
  eq(answer.body.result.structuredContent.space, "test");
});

Deno.test("mcp clients: rights are those of the person now, within the scopes", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const person = await world.join(owner, ["operator"]);
  const { client_id, access_token, refresh_token, scope } = await connected(world, person);
  eq(scope, SCOPE_LIST.join(" "));
  const tools = await toolsOf(world, access_token);
  ok(tools.includes("run_command") && !tools.includes("list_secrets"), `${tools}`);
  const home = { org: owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    tx.put(users, home, { ...(await tx.get(users, home, person.userId))!, roles: ["viewer"] });
  });
  ok(!(await toolsOf(world, access_token)).includes("run_command"));
  await world.call("POST", `/api/v1/users/${person.userId}/deactivate`, {
    as: owner.token,
    body: {},
  });
  eq(await toolsOf(world, access_token), "inactive");
  deq(oauth(await refresh(world, client_id, refresh_token)), [400, "invalid_grant"]);
});

Deno.test("mcp clients: codes and tokens are not stored", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const asked = askedBy(await register(world));
  const code = await codeBy(world, owner.token, asked);
  const { body } = await exchange(world, asked, code);
  await world.settle();
  const text = Deno.inspect(await rawRows(world.kv), {
    depth: 9,
    iterableLimit: Infinity,
    strAbbreviateSize: Infinity,
  });
  for (const secret of [code, body.access_token, body.refresh_token]) {
    ok(!text.includes(secret.split(".").at(-1)));
  }
});

Deno.test("mcp clients: a code works once, and its second use ends the client", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const asked = askedBy(await register(world));
  const code = await codeBy(world, owner.token, asked);
  const { body } = await exchange(world, asked, code);
  ok((await toolsOf(world, body.access_token)).includes("list_agents"));
  deq(oauth(await exchange(world, asked, code)), [400, "invalid_grant"]);
  eq(await toolsOf(world, body.access_token), "ended");
  deq(oauth(await refresh(world, asked.client_id, body.refresh_token)), [400, "invalid_grant"]);
  const [details] = await detailsOf(world, owner.token, "mcp_client_ended");
  eq(details.reason, "code_reused");
});

Deno.test("mcp clients: of concurrent exchanges of one code at most one gets tokens that work", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const asked = askedBy(await register(world));
  const code = await codeBy(world, owner.token, asked);
  const answers = await Promise.all([1, 2, 3].map(() => exchange(world, asked, code)));
  eq(answers.filter(({ status }) => status === 200).length, 1);
});

Deno.test("mcp clients: a code is bound to its client, address, challenge, resource and minute", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const asked = askedBy(await register(world));
  const other = await register(world);
  const code = await codeBy(world, owner.token, asked);
  const wrong: readonly [more: Record<string, string>, error: string][] = [
    [{ client_id: other }, "invalid_grant"],
    [{ redirect_uri: `${CALLBACK}/` }, "invalid_grant"],
    [{ code_verifier: "another-verifier-with-at-least-forty-three-characters" }, "invalid_grant"],
    [{ code_verifier: "short" }, "invalid_grant"],
    [{ resource: `${ORIGIN}/mcp/stream` }, "invalid_target"],
    [{ resource: "https://other.example/mcp" }, "invalid_target"],
    [{ code: code.replace("rac_", "rar_") }, "invalid_grant"],
    [{ grant_type: "client_credentials" }, "unsupported_grant_type"],
    [{ grant_type: "constructor" }, "unsupported_grant_type"],
  ];
  for (const [more, error] of wrong) {
    deq(oauth(await exchange(world, asked, code, more)), [400, error], JSON.stringify(more));
  }
  for (const name of ["code", "client_id", "redirect_uri", "code_verifier", "grant_type"]) {
    const form = { grant_type: "authorization_code", ...asked, code, code_verifier: "x" };
    const { [name as "code"]: _, ...rest } = form;
    deq(oauth(await post(world, "/oauth/token", rest)), [400, "invalid_request"], name);
  }
  world.clock.nowMs += MINUTE_MS;
  deq(oauth(await exchange(world, asked, code)), [400, "invalid_grant"]);
  // None of these attempts spent a code that is fresh.
  const fresh = await codeBy(world, owner.token, asked);
  const empty = await exchange(world, asked, fresh, { client_id: "" });
  deq(oauth(empty), [400, "invalid_request"]);
  for (const [more] of wrong.slice(0, 5)) await exchange(world, asked, fresh, more);
  eq((await exchange(world, asked, fresh, { resource: `${ORIGIN}/mcp` })).status, 200);
  const last = await codeBy(world, owner.token, asked);
  eq((await exchange(world, asked, last, { resource: "" })).status, 200);
});

Deno.test("mcp clients: refresh tokens rotate; a lost answer is repeated, and a later reuse ends the client", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { client_id, refresh_token: first, access_token } = await connected(world, owner);
  const { body: second } = await refresh(world, client_id, first);
  ok(second.refresh_token !== first);
  world.clock.nowMs += 20_000;
  const { body: repeated } = await refresh(world, client_id, first);
  eq(repeated.refresh_token, second.refresh_token);
  ok((await toolsOf(world, repeated.access_token)).includes("list_agents"));
  world.clock.nowMs += 20_000;
  deq(oauth(await refresh(world, client_id, first)), [400, "invalid_grant"]);
  for (const token of [access_token, second.access_token]) {
    eq(await toolsOf(world, token), "ended");
  }
  deq(oauth(await refresh(world, client_id, second.refresh_token)), [400, "invalid_grant"]);
  const [details] = await detailsOf(world, owner.token, "mcp_client_ended");
  eq(details.reason, "refresh_token_reused");
  const { body } = await world.call("GET", "/api/account/notifications", { as: owner.token });
  eq(body.notifications[0].type, "refresh_token_reused");
});

Deno.test("mcp clients: a token newer than a restored backup is refused, and ends nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { client_id, refresh_token, access_token } = await connected(world, owner);
  const home = { org: owner.org, space: "live" } as const;
  const { items: [backup] } = await world.app.store.list(mcpGrants, home, { limit: 1 });
  const { body: newer } = await refresh(world, client_id, refresh_token);
  world.clock.nowMs += MINUTE_MS;
  await world.app.store.transact(async (tx) => {
    const { refresh_count, refreshed_at_ms } = backup!;
    const now = (await tx.get(mcpGrants, home, backup!.id))!;
    tx.put(mcpGrants, home, { ...now, refresh_count, refreshed_at_ms });
  });
  deq(oauth(await refresh(world, client_id, newer.refresh_token)), [400, "invalid_grant"]);
  deq(await detailsOf(world, owner.token, "mcp_client_ended"), []);
  ok((await toolsOf(world, access_token)).includes("list_agents"));
  eq((await refresh(world, client_id, refresh_token)).status, 200);
});

Deno.test("mcp clients: of concurrent refreshes with one token all get the same successor", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { client_id, refresh_token } = await connected(world, owner);
  const answers = await Promise.all([1, 2, 3].map(() => refresh(world, client_id, refresh_token)));
  eq(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
  const [{ body }] = answers as [Answer];
  eq((await refresh(world, client_id, body.refresh_token)).status, 200);
});

Deno.test("mcp clients: a refresh token is bound to its client and resource, and its client ends unused", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { client_id, refresh_token } = await connected(world, owner);
  const other = await register(world);
  deq(oauth(await refresh(world, other, refresh_token)), [400, "invalid_grant"]);
  const resource = `${ORIGIN}/mcp/stream`;
  deq(oauth(await refresh(world, client_id, refresh_token, { resource })), [400, "invalid_target"]);
  world.clock.nowMs += 29 * DAY_MS;
  const { status, body } = await refresh(world, client_id, refresh_token);
  eq(status, 200);
  world.clock.nowMs += 15 * MINUTE_MS;
  eq(await toolsOf(world, body.access_token), "expired");
  world.clock.nowMs += 30 * DAY_MS;
  deq(oauth(await refresh(world, client_id, body.refresh_token)), [400, "invalid_grant"]);
});

Deno.test("mcp clients: a new password ends them", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { access_token, refresh_token, client_id } = await connected(world, owner);
  const body = { current_password: "password 1", new_password: "another password" };
  const answer = await world.call("POST", "/api/account/password", { as: owner.token, body });
  eq(answer.status, 200, answer.text);
  eq(await toolsOf(world, access_token), "ended");
  deq(oauth(await refresh(world, client_id, refresh_token)), [400, "invalid_grant"]);
  deq((await world.call("GET", CLIENTS, { as: owner.token })).body.clients, []);
});

Deno.test("mcp clients: without the second factor that the organization requires they have no rights", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { access_token } = await connected(world, owner);
  ok((await toolsOf(world, access_token)).includes("list_agents"));
  await world.app.store.transact(async (tx) => {
    const organization = (await tx.get(organizations, SYSTEM, owner.org))!;
    tx.put(organizations, SYSTEM, { ...organization, require_second_factor: true });
  });
  ok(!(await toolsOf(world, access_token)).includes("list_agents"));
});

Deno.test("mcp clients: the token endpoint takes one form with each field once", async () => {
  await using world = await World.open();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const twice = await beside(world, "POST", "/oauth/token", {
    headers,
    body: "grant_type=a&grant_type=",
  });
  deq(oauth(twice), [400, "invalid_request"]);
  const json = await beside(world, "POST", "/oauth/token", {
    body: { grant_type: "refresh_token" },
  });
  deq(oauth(json), [400, "invalid_request"]);
  const large = await beside(world, "POST", "/oauth/token", {
    headers,
    body: "x".repeat(17 * 1024),
  });
  eq(large.status, 413);
  eq((await beside(world, "GET", "/oauth/token")).status, 405);
});
