import { createHash } from "node:crypto";
import { strictEqual as eq } from "node:assert/strict";
import type { Account, Answer, World } from "../../support/world.ts";

export const ORIGIN = "http://localhost";
export const CALLBACK = "https://client.example/callback";
export const VERIFIER = "a-verifier-with-at-least-forty-three-characters";
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

/** What a client asks a person for. */
export interface Asked {
  readonly response_type: string;
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly code_challenge: string;
  readonly code_challenge_method: string;
  readonly state?: string;
  readonly scope?: string;
  readonly resource?: string;
}

/** The answer of a path that is not a route, such as those of OAuth. */
export async function beside(
  world: World,
  ...call: Parameters<World["raw"]>
): Promise<Answer> {
  const response = await world.raw(...call);
  const { status, headers } = response;
  const text = await response.text();
  return { status, headers, text, body: text === "" ? null : JSON.parse(text) };
}

/** What an endpoint of OAuth answers to a form. */
export const post = (world: World, path: string, form: Readonly<Record<string, string>>) =>
  beside(world, "POST", path, {
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `${new URLSearchParams(form)}`,
  });

/** Registers a client; returns its id. */
export async function register(
  world: World,
  redirect_uris: readonly string[] = [CALLBACK],
  client_name = "Example",
): Promise<string> {
  const answer = await beside(world, "POST", "/oauth/register", {
    body: { client_name, redirect_uris },
  });
  eq(answer.status, 201, answer.text);
  return answer.body.client_id;
}

export const askedBy = (client_id: string, more: Partial<Asked> = {}): Asked => ({
  response_type: "code",
  client_id,
  redirect_uri: CALLBACK,
  code_challenge: CHALLENGE,
  code_challenge_method: "S256",
  ...more,
});

/** What the consent page sends when a person decides. */
export const decide = (
  world: World,
  as: string,
  asked: Asked,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answer> =>
  world.call("POST", "/api/account/mcp-clients/decide", {
    as,
    body: { approve: true, ...asked, ...more },
  });

/** The code of an approval. */
export async function codeBy(
  world: World,
  as: string,
  asked: Asked,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const answer = await decide(world, as, asked, more);
  eq(answer.status, 200, answer.text);
  return new URL(answer.body.redirect_to).searchParams.get("code")!;
}

/** What a client sends for a code. */
export const exchange = (
  world: World,
  { client_id, redirect_uri }: Asked,
  code: string,
  more: Readonly<Record<string, string>> = {},
) =>
  post(world, "/oauth/token", {
    grant_type: "authorization_code",
    code,
    client_id,
    redirect_uri,
    code_verifier: VERIFIER,
    ...more,
  });

export const refresh = (
  world: World,
  client_id: string,
  refresh_token: string,
  more: Readonly<Record<string, string>> = {},
) =>
  post(world, "/oauth/token", { grant_type: "refresh_token", client_id, refresh_token, ...more });

/** A client with tokens of a person. */
export async function connected(
  world: World,
  { token }: Pick<Account, "token">,
  more: Partial<Asked> = {},
  chosen: Readonly<Record<string, unknown>> = {},
) {
  const asked = askedBy(await register(world), more);
  const answer = await exchange(world, asked, await codeBy(world, token, asked, chosen));
  eq(answer.status, 200, answer.text);
  const { access_token, refresh_token, scope, expires_in } = answer.body;
  return { asked, client_id: asked.client_id, access_token, refresh_token, scope, expires_in };
}

/** The names of the tools that a token shows at an MCP address; the reason where it is refused. */
export async function toolsOf(world: World, as: string, path = "/mcp"): Promise<string[] | string> {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const answer = await beside(world, "POST", path, { as, body });
  if (answer.status === 401) return answer.body.error.details.reason;
  eq(answer.status, 200, answer.text);
  return answer.body.result.tools.map(({ name }: { name: string }) => name);
}

/** What OAuth says of a failure. */
export const oauth = ({ status, body }: Answer) => [status, body.error];

/** The field of a request that a refusal names. */
export const issue = ({ status, body }: Answer) => [status, body.error.details.issues?.[0].path];

/** The details of a type's events, newest first. */
export const detailsOf = async (world: World, as: string, type: string) =>
  (await world.call("GET", `/api/audit?event_type=${type}`, { as })).body.events
    .map(({ details }: { details: unknown }) => details);
