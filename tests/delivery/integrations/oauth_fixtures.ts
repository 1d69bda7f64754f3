import { strictEqual as eq } from "node:assert/strict";
import { repositoryCredentialOf } from "../../../core/delivery/integrations/repository.ts";
import { integrations } from "../../../kv/records/integration.ts";
import { type Account, type Answer, World } from "../../support/world.ts";
import { FakeProvider } from "./fake_provider.ts";
import { installed, shown } from "./fixtures.ts";

export const CALLBACK = "/api/integrations/oauth/callback";
export const MINUTE_MS = 60_000;
export const HOST = "git.example.com";

export interface Setting {
  readonly owner: Account;
  readonly provider: FakeProvider;
  readonly id: string;
  /** An API key of the owner, which outlives a JWT. */
  readonly key: string;
}

export async function setUp(world: World, more: Record<string, unknown> = {}): Promise<Setting> {
  const provider = await FakeProvider.open(world.clock);
  world.network.reply = provider.reply;
  const owner = await world.signUp();
  const config = { ...provider.config, repository_host: HOST.toUpperCase(), ...more };
  const id = await installed(world, owner, "oauth2", config);
  const scopes = ["system:read", "system:write", "audit:read"];
  return { owner, provider, id, key: (await world.key(owner, scopes)).value };
}

export interface Begun {
  readonly authorize_url: string;
  readonly state: string;
  readonly expires_at: string;
  /** The Cookie header of a browser with the cookie of begin. */
  readonly cookie: string;
  readonly setCookie: string;
}

export async function begin(
  world: World,
  { id, owner }: Setting,
  as = owner.token,
  more: { readonly to_console?: boolean } = {},
): Promise<Begun> {
  const body = { integration_id: id, ...more };
  const answer = await world.call("POST", "/api/integrations/oauth/begin", { as, body });
  eq(answer.status, 200, answer.text);
  const setCookie = answer.headers.get("set-cookie")!;
  return { ...answer.body, setCookie, cookie: setCookie.split(";")[0]! };
}

export const back = (
  world: World,
  query: URLSearchParams,
  by: { as?: string; cookie?: string },
): Promise<Answer> =>
  world.call("GET", `${CALLBACK}?${query}`, {
    ...(by.as !== undefined && { as: by.as }),
    ...(by.cookie !== undefined && { headers: { cookie: by.cookie } }),
  });

/** Runs a complete flow. */
export async function connect(world: World, here: Setting): Promise<Answer> {
  const begun = await begin(world, here, here.key);
  const answer = await back(world, here.provider.consent(begun.authorize_url), { as: here.key });
  eq(answer.status, 200, answer.text);
  return answer;
}

export const passwordOf = async (world: World, { owner }: Setting) => {
  const tenant = { org: owner.org, space: "live" } as const;
  return (await repositoryCredentialOf(world.app, tenant, HOST))?.password ?? null;
};

export const seen = (world: World, { owner, key, id }: Setting) =>
  shown(world, { ...owner, token: key }, id);

/** An integration with tokens due for refresh at this server. */
export async function connected(world: World, owner: Account, server: string): Promise<void> {
  const endpoints = {
    authorization_endpoint: `${server}/authorize`,
    token_endpoint: `${server}/token`,
  };
  const id = await installed(world, owner, "oauth2", { ...endpoints, client_id: "relay" });
  const { store, sealer, ports: { clock } } = world.app;
  const tokens = { access_token: "a", refresh_token: "r", account: null };
  await store.transact(async (tx) => {
    const tenant = { org: owner.org, space: "live" } as const;
    const record = await tx.get(integrations, tenant, id);
    tx.put(integrations, tenant, {
      ...record!,
      status: "active",
      provider: { issuer: server, ...endpoints, id_token_signing_alg_values_supported: [] },
      sealed_tokens: sealer.seal(JSON.stringify(tokens), id),
      refresh_at_ms: clock.now(),
    });
  });
}
