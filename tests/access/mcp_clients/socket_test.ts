import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import * as oauth from "oauth4webapi";
import { clientOf, expectStatus } from "../../clients/status_client.ts";
import { signUpOwner, startRelayProcess } from "../../support/processes.ts";

const INSECURE = { [oauth.allowInsecureRequests]: true };
const CALLBACK = "http://127.0.0.1:8912/callback";

/** The tools that a request to an MCP address lists; the status where it is refused. */
async function toolsOf(url: string, token?: string): Promise<string[] | number> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  const body = await response.json();
  if (response.status !== 200) return response.status;
  return body.result.tools.map(({ name }: { name: string }) => name);
}

Deno.test("mcp clients: a client of another make goes the whole way over sockets, from a 401 to a revocation", async () => {
  const { relay, url } = await startRelayProcess({ RELAY_KV: ":memory:" });
  try {
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const address = `${url}/mcp?sign_in=required`;
    eq(await toolsOf(address), 401);
    const resource = new URL(`${url}/mcp`);
    const described = await oauth.processResourceDiscoveryResponse(
      resource,
      await oauth.resourceDiscoveryRequest(resource, INSECURE),
    );
    const issuer = new URL(described.authorization_servers![0]!);
    const server = await oauth.processDiscoveryResponse(
      issuer,
      await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...INSECURE }),
    );
    const client = await oauth.processDynamicClientRegistrationResponse(
      await oauth.dynamicClientRegistrationRequest(
        server,
        { client_name: "Another", redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" },
        INSECURE,
      ),
    );
    const verifier = oauth.generateRandomCodeVerifier(), state = oauth.generateRandomState();
    const asked = {
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: CALLBACK,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      resource: resource.href,
      scope: "agents:read",
      state,
    };
    const decided = await owner<{ redirect_to: string }>(
      "POST",
      "/api/account/mcp-clients/decide",
      { ...asked, approve: true },
    );
    const back = new URL(expectStatus(decided, 200, "allowing the client").redirect_to);
    const answer = oauth.validateAuthResponse(server, client, back, state);
    const exchange = () =>
      oauth.authorizationCodeGrantRequest(
        server,
        client,
        oauth.None(),
        answer,
        CALLBACK,
        verifier,
        { ...INSECURE, additionalParameters: { resource: resource.href } },
      );
    const first = await oauth.processAuthorizationCodeResponse(server, client, await exchange());
    deq([first.token_type, first.scope], ["bearer", "agents:read"]);
    const tools = await toolsOf(address, first.access_token);
    ok(Array.isArray(tools) && tools.includes("list_agents") && !tools.includes("run_command"));
    eq(await toolsOf(`${url}/mcp/stream`, first.access_token), 401);
    const second = await oauth.processRefreshTokenResponse(
      server,
      client,
      await oauth.refreshTokenGrantRequest(
        server,
        client,
        oauth.None(),
        first.refresh_token!,
        INSECURE,
      ),
    );
    ok(second.refresh_token !== first.refresh_token);
    ok(Array.isArray(await toolsOf(address, second.access_token)));
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(server, client, oauth.None(), second.refresh_token!, INSECURE),
    );
    for (const { access_token } of [first, second]) eq(await toolsOf(address, access_token), 401);
    const inside = { ...asked, client_id: "https://127.0.0.1:1/client.json", approve: true };
    const refused = await owner<{ error: { details: { reason: string } } }>(
      "POST",
      "/api/account/mcp-clients/decide",
      inside,
    );
    deq([refused.status, refused.body.error.details.reason], [503, "refused_address"]);
    const again = await exchange();
    deq([again.status, (await again.json()).error], [400, "invalid_grant"]);
  } finally {
    await relay.stop();
  }
});
