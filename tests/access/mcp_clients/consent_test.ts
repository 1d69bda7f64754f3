import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SCOPE_LIST } from "../../../core/identity/scopes.ts";
import { mcpGrants } from "../../../kv/records/user.ts";
import { rawRows } from "../../support/raw_rows.ts";
import { World } from "../../support/world.ts";
import { signedIn } from "../console/console_fixtures.ts";
import {
  askedBy,
  beside,
  CALLBACK,
  codeBy,
  connected,
  decide,
  detailsOf,
  exchange,
  issue,
  oauth,
  ORIGIN,
  post,
  refresh,
  register,
  toolsOf,
} from "./fixtures.ts";

const CLIENTS = "/api/account/mcp-clients";

Deno.test("mcp clients: the metadata leads from an MCP address to the relay's own server", async () => {
  await using world = await World.open();
  const { body: resource } = await beside(
    world,
    "GET",
    "/.well-known/oauth-protected-resource/mcp",
  );
  deq([resource.resource, resource.authorization_servers], [`${ORIGIN}/mcp`, [ORIGIN]]);
  const { body: server } = await beside(world, "GET", "/.well-known/oauth-authorization-server");
  deq(
    [server.issuer, server.authorization_endpoint, server.token_endpoint],
    [ORIGIN, `${ORIGIN}/console/authorize`, `${ORIGIN}/oauth/token`],
  );
  deq(server.code_challenge_methods_supported, ["S256"]);
  const anonymous = await beside(world, "POST", "/mcp?sign_in=required", {
    body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  });
  eq(anonymous.status, 401);
  ok(
    anonymous.headers.get("www-authenticate")!.includes(
      `resource_metadata="${ORIGIN}/.well-known/oauth-protected-resource/mcp"`,
    ),
  );
});

Deno.test("mcp clients: a consent gives tokens with the scopes that the person chose, and lists the client", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const client_id = await register(world);
  const asked = askedBy(client_id, {
    scope: "agents:read approvals:read openid",
    state: "a state",
    resource: `${ORIGIN}/mcp?tools=common`,
  });
  const shown = await world.call("POST", `${CLIENTS}/request`, { as: owner.token, body: asked });
  deq(shown.body, {
    name: "Example",
    client_host: null,
    redirect_uri: CALLBACK,
    resource: `${ORIGIN}/mcp`,
    scopes: ["agents:read", "approvals:read"],
  });
  const decided = await decide(world, owner.token, asked, { scopes: ["agents:read"] });
  const { origin, pathname, searchParams } = new URL(decided.body.redirect_to);
  deq([`${origin}${pathname}`, searchParams.get("state"), searchParams.get("iss")], [
    CALLBACK,
    "a state",
    ORIGIN,
  ]);
  const { status, headers, body } = await exchange(world, asked, searchParams.get("code")!);
  eq(status, 200);
  eq(headers.get("cache-control"), "no-store");
  deq([body.token_type, body.expires_in, body.scope], ["Bearer", 900, "agents:read"]);
  const tools = await toolsOf(world, body.access_token);
  ok(tools.includes("list_agents"), `${tools}`);
  ok(!tools.includes("list_approvals") && !tools.includes("run_command"), `${tools}`);
  const { body: { clients } } = await world.call("GET", CLIENTS, { as: owner.token });
  deq(
    clients.map((
      { name, scopes, space, resource }: Record<string, unknown>,
    ) => [name, scopes, space, resource]),
    [["Example", ["agents:read"], "live", "/mcp"]],
  );
  deq((await world.trail(owner)).filter((type) => type.startsWith("mcp_client")), [
    "mcp_client_approved",
    "mcp_client_connected",
  ]);
});

Deno.test("mcp clients: a refusal tells the client, and gives nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const asked = askedBy(await register(world), { state: "s" });
  const { body } = await decide(world, owner.token, asked, { approve: false });
  const query = new URL(body.redirect_to).searchParams;
  deq([query.get("error"), query.get("state"), query.get("code")], ["access_denied", "s", null]);
  deq((await rawRows(world.kv)).filter(({ kind }) => kind.startsWith("mcp_grants")), []);
  eq((await detailsOf(world, owner.token, "mcp_client_refused")).length, 1);
});

Deno.test("mcp clients: consent is refused for another address, without PKCE, and for other resources", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const asked = askedBy(await register(world));
  const wrong: readonly [more: Record<string, unknown>, path: string][] = [
    [{ redirect_uri: "https://client.example/other" }, "body.redirect_uri"],
    [{ redirect_uri: `${CALLBACK}?x=1` }, "body.redirect_uri"],
    [{ redirect_uri: "https://evil.example/callback" }, "body.redirect_uri"],
    [{ client_id: "mcp_unknown" }, "body.client_id"],
    [{ client_id: "someone" }, "body.client_id"],
    [{ resource: "https://other.example/mcp" }, "body.resource"],
    [{ resource: `${ORIGIN}/api` }, "body.resource"],
    [{ scope: "openid" }, "body.scope"],
    [{ scope: "agents:read", scopes: ["system:write"] }, "body.scopes"],
    [{ code_challenge_method: "plain" }, "body.code_challenge_method"],
    [{ code_challenge: "short" }, "body.code_challenge"],
    [{ response_type: "token" }, "body.response_type"],
    [{ code_challenge: undefined }, "body.code_challenge"],
  ];
  for (const [more, path] of wrong) {
    deq(issue(await decide(world, owner.token, asked, more)), [400, path], JSON.stringify(more));
  }
  deq((await rawRows(world.kv)).filter(({ kind }) => kind.startsWith("mcp_grants")), []);
});

Deno.test("mcp clients: only a signed-in person consents, from a page of the relay's own origin", async () => {
  await using world = await World.open();
  const owner = await signedIn(world);
  const asked = askedBy(await register(world));
  const key = await world.key(owner, SCOPE_LIST);
  const client = await connected(world, owner);
  const body = { ...asked, approve: true };
  const byKey = await world.call("POST", `${CLIENTS}/decide`, { as: key.value, body });
  eq(byKey.status, 403);
  const byClient = await world.call("POST", `${CLIENTS}/decide`, { as: client.access_token, body });
  eq(byClient.status, 401);
  eq((await world.call("POST", `${CLIENTS}/decide`, { body })).status, 401);
  const { cookie } = owner;
  const foreign: Record<string, string>[] = [
    { cookie },
    { cookie, origin: "https://evil.example", "sec-fetch-site": "cross-site" },
    { cookie, origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
    { cookie, origin: "http://localhost:3000", "sec-fetch-site": "same-origin" },
    { cookie, "sec-fetch-site": "none" },
  ];
  for (const headers of foreign) {
    for (const path of [`${CLIENTS}/decide`, `${CLIENTS}/request`]) {
      const sent = path.endsWith("decide") ? body : asked;
      const answer = await world.call("POST", path, { headers, body: sent });
      eq(answer.status, 403, `${path} ${JSON.stringify(headers)} ${answer.text}`);
    }
  }
  const own = await world.call("POST", `${CLIENTS}/decide`, {
    headers: owner.page,
    body,
  });
  eq(own.status, 200);
});

Deno.test("mcp clients: a person and a client end it at once, and no other person or client does", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const colleague = await world.join(owner, ["admin"]);
  const first = await connected(world, owner);
  const second = await connected(world, owner);
  const { body: { clients } } = await world.call("GET", CLIENTS, { as: owner.token });
  const missing = await world.call("DELETE", `${CLIENTS}/mcg_missing`, { as: stranger.token });
  eq(missing.status, 404);
  for (const { token } of [stranger, colleague]) {
    for (const { id } of clients) {
      const answer = await world.call("DELETE", `${CLIENTS}/${id}`, { as: token });
      deq([answer.status, answer.body.error.message], [404, missing.body.error.message]);
    }
    deq((await world.call("GET", CLIENTS, { as: token })).body.clients, []);
  }
  const [newest] = clients;
  eq((await world.call("DELETE", `${CLIENTS}/${newest.id}`, { as: owner.token })).status, 204);
  eq(await toolsOf(world, second.access_token), "ended");
  const revoke = (client_id: string, token: string) =>
    post(world, "/oauth/revoke", { client_id, token });
  deq(oauth(await revoke(second.client_id, first.access_token)), [400, "invalid_grant"]);
  eq((await revoke(first.client_id, "anything")).status, 200);
  ok((await toolsOf(world, first.access_token)).includes("list_agents"));
  eq((await revoke(first.client_id, first.refresh_token)).status, 200);
  eq(await toolsOf(world, first.access_token), "ended");
  eq((await revoke(first.client_id, first.refresh_token)).status, 200);
  const reasons = (await detailsOf(world, owner.token, "mcp_client_ended"))
    .map(({ reason }: { reason: string }) => reason);
  deq(reasons, ["by_client", "by_user"]);
});

Deno.test("mcp clients: a person has at most 50; the one with the earliest end goes", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const first = await connected(world, owner);
  for (let n = 0; n < 48; n++) {
    world.clock.nowMs += 1;
    await connected(world, owner);
  }
  // A consent whose code is not exchanged yet stays, though it would end first.
  const asked = askedBy(await register(world));
  const code = await codeBy(world, owner.token, asked);
  deq(await detailsOf(world, owner.token, "mcp_client_ended"), []);
  await connected(world, owner);
  deq(
    (await detailsOf(world, owner.token, "mcp_client_ended"))
      .map(({ client, reason }: Record<string, string>) => [client, reason]),
    [["Example", "surplus"]],
  );
  eq((await exchange(world, asked, code)).status, 200);
  eq(await toolsOf(world, first.access_token), "ended");
  const home = { org: owner.org, space: "live" } as const;
  eq((await world.app.store.list(mcpGrants, home, { limit: 100 })).items.length, 50);
});

Deno.test("mcp clients: a configuration without them refuses all of them, and nothing leads to them", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { access_token, refresh_token, client_id, asked } = await connected(world, owner);
  const code = await codeBy(world, owner.token, asked);
  const letIn = (mcp_clients: boolean) => {
    for (const { config } of world.apps) Object.assign(config().auth, { mcp_clients });
  };
  letIn(false);
  eq(await toolsOf(world, access_token), "ended");
  const refused = await decide(world, owner.token, asked);
  deq([refused.status, refused.body.error.code], [403, "FORBIDDEN"]);
  const resource = await beside(world, "GET", "/.well-known/oauth-protected-resource/mcp");
  eq(resource.body.authorization_servers, undefined);
  eq((await beside(world, "GET", "/.well-known/oauth-authorization-server")).status, 404);
  deq(oauth(await exchange(world, asked, code)), [400, "invalid_grant"]);
  deq(oauth(await refresh(world, client_id, refresh_token)), [400, "invalid_grant"]);
  const registration = await beside(world, "POST", "/oauth/register", {
    body: { redirect_uris: [CALLBACK] },
  });
  deq(oauth(registration), [400, "access_denied"]);
  // It was refused and not ended, but a client may still end itself.
  letIn(true);
  eq((await exchange(world, asked, code)).status, 200);
  letIn(false);
  eq((await post(world, "/oauth/revoke", { client_id, token: refresh_token })).status, 200);
  letIn(true);
  eq(await toolsOf(world, access_token), "ended");
});
