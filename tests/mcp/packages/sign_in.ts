import * as current from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ok, strictEqual as eq } from "node:assert/strict";

/**
 * An official client that signs a person in: `sign_in.ts <client|sdk> <address>`. It prints the address to open in a
 * browser, waits for the browser to come back, and lists the tools; then once more with refreshed tokens.
 */
const [name, address] = Deno.args as ["client" | "sdk", string];
const official = name === "client"
  ? current
  : { Client, StreamableHTTPClientTransport, UnauthorizedError };

const came = Promise.withResolvers<URLSearchParams>();
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
  came.resolve(new URL(request.url).searchParams);
  // Without an icon, the browser asks for /favicon.ico, maybe after this server has ended.
  const page = `<!doctype html><link rel="icon" href="data:,">Back at the client`;
  return new Response(page, { headers: { "content-type": "text/html" } });
});
const redirectUrl = `http://127.0.0.1:${server.addr.port}/callback`;

// deno-lint-ignore no-explicit-any -- the two packages have types of their own for the same things
const kept: Record<string, any> = {};
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: `official ${name}`,
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => "a state",
  clientInformation: () => kept.client,
  saveClientInformation: (client: unknown) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens: unknown) => void (kept.tokens = tokens),
  redirectToAuthorization: (url: URL) => console.log(`open ${url}`),
  saveCodeVerifier: (verifier: string) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state: unknown) => void (kept.discovery = state),
  discoveryState: () => kept.discovery,
};

function start() {
  const client = new official.Client({ name: "relay-test", version: "1.0.0" });
  const transport = new official.StreamableHTTPClientTransport(new URL(address), {
    authProvider: authProvider as never,
  });
  return { client, transport, connect: () => client.connect(transport as never) };
}

async function listTools(): Promise<string[]> {
  const { client, connect } = start();
  await connect();
  const { tools } = await client.listTools();
  await client.close();
  return tools.map((tool: { readonly name: string }) => tool.name);
}

const first = start();
const refused = await first.connect().then(() => null, (error: unknown) => error);
ok(refused instanceof official.UnauthorizedError, String(refused));
const query = await came.promise;
eq(query.get("state"), "a state");
await first.transport.finishAuth(query.get("code")!, query.get("iss")!);
const tools = await listTools();
const { refresh_token, scope } = kept.tokens;
kept.tokens = { ...kept.tokens, access_token: `${kept.tokens.access_token}x` };
eq((await listTools()).length, tools.length);
ok(kept.tokens.refresh_token !== refresh_token, "the refresh token rotated");
await server.shutdown();
console.log(`done ${JSON.stringify({ scope, tools })}`);
