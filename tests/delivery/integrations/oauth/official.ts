import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { repositoryCredentialOf } from "../../../../core/delivery/integrations/repository.ts";
import { tokensOf } from "../../../../core/delivery/integrations/oauth/tokens.ts";
import { safeOutbound } from "../../../../core/ports/outbound/safe_outbound.ts";
import { systemClock } from "../../../../core/ports/system.ts";
import { integrations } from "../../../../kv/records/integration.ts";
import { installed, shown } from "../fixtures.ts";
import { NO_LIMITS } from "../../../support/no_limits.ts";
import { type Account, World } from "../../../support/world.ts";
import { Browser } from "./browser.ts";

/**
 * OAuth against a certified provider that Relay did not write. `deno task test:oauth` fetches it, and
 * nothing of Relay depends on it.
 */
const PACKAGES = new URL("./packages/", import.meta.url).pathname;
const PUBLIC_URL = "https://relay.example.com";
const CALLBACK = "/api/integrations/oauth/callback";
const CLIENT = { client_id: "relay", client_secret: "a+secret/of:the%client" };
const HOST = "git.example.com";
const MINUTE_MS = 60_000;

interface Setting {
  readonly world: World;
  readonly owner: Account;
  readonly key: string;
  readonly id: string;
  readonly issuer: string;
  /** Ends the provider. */
  readonly stopProvider: () => Promise<void>;
}

async function withProvider(use: (here: Setting) => Promise<void>): Promise<void> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "provider.ts", `${PUBLIC_URL}${CALLBACK}`],
    cwd: PACKAGES,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let said = "", issuer: string | undefined;
  while (issuer === undefined) {
    const { value, done } = await lines.read();
    if (done) throw new Error(`the provider did not start: ${said}`);
    issuer = /listening at (\S+)\n/.exec(said += value)?.[1];
  }
  let stopped = false;
  const stopProvider = async () => {
    if (stopped) return;
    stopped = true;
    child.kill();
    await lines.cancel();
    await child.status;
  };
  const outbound = safeOutbound({ allowPrivateTargets: () => true, clock: systemClock });
  try {
    await using world = await World.open({
      config: { ...NO_LIMITS, outbound: { allow_private_targets: true } },
      settings: { publicUrl: PUBLIC_URL },
    });
    world.clock.nowMs = Date.now(); // the provider's clock, which judges and is judged
    world.network.request = (request) => {
      world.network.sent.push(request);
      return outbound.request(request);
    };
    const owner = await world.signUp();
    const key = (await world.key(owner, ["system:read", "system:write"])).value;
    const config = {
      ...CLIENT,
      issuer,
      scopes: ["openid", "offline_access"],
      prompt: "consent",
      repository_host: HOST,
    };
    const id = await installed(world, owner, "oauth2", config);
    await use({ world, owner, key, id, issuer, stopProvider });
  } finally {
    outbound.close();
    await stopProvider();
  }
}

async function begin({ world, key, id }: Setting) {
  const body = { integration_id: id };
  const answer = await world.call("POST", "/api/integrations/oauth/begin", { as: key, body });
  eq(answer.status, 200, answer.text);
  const cookie = answer.headers.get("set-cookie")!.split(";")[0]!;
  return { authorizeUrl: answer.body.authorize_url as string, cookie };
}

const back = ({ world }: Setting, query: URLSearchParams, cookie: string) =>
  world.call("GET", `${CALLBACK}?${query}`, { headers: { cookie } });

/** Signs in at the provider and consents; what the browser then brings back. */
async function consent(here: Setting) {
  const { authorizeUrl, cookie } = await begin(here);
  return { query: await new Browser().consent(authorizeUrl), cookie };
}

/** Moves the clocks of the relay and of the provider. */
async function advance({ world, issuer }: Setting, ms: number): Promise<void> {
  await aheadBy(issuer, ms / 1000);
  await world.advance(ms);
}

async function aheadBy(issuer: string, seconds: number): Promise<void> {
  await (await fetch(`${issuer}/test/clock?seconds=${seconds}`)).body?.cancel();
}

async function connect(here: Setting): Promise<void> {
  const { query, cookie } = await consent(here);
  const answer = await back(here, query, cookie);
  deq([answer.status, answer.body.status], [200, "active"], answer.text);
}

const seen = ({ world, owner, key, id }: Setting) => shown(world, { ...owner, token: key }, id);

/** The tokens that Relay holds, as nobody outside sees them. */
async function held({ world: { app }, owner, id }: Setting) {
  const record = await app.store.get(integrations, { org: owner.org, space: "live" }, id);
  return tokensOf(app, record!);
}

const password = async ({ world, owner }: Setting) => {
  const tenant = { org: owner.org, space: "live" } as const;
  return (await repositoryCredentialOf(world.app, tenant, HOST))?.password ?? null;
};

/** Asks the provider itself, as the client. */
async function ask({ issuer }: Setting, path: string, form: Record<string, string>) {
  const { client_id, client_secret } = CLIENT;
  const authorization = `Basic ${btoa(`${client_id}:${encodeURIComponent(client_secret)}`)}`;
  const response = await fetch(`${issuer}${path}`, {
    method: "POST",
    headers: { authorization },
    body: new URLSearchParams(form),
  });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

const isActive = async (here: Setting, token: string) =>
  (await ask(here, "/token/introspection", { token })).body.active;

Deno.test("oauth: the happy path, with tokens that the provider knows", () =>
  withProvider(async (here) => {
    await connect(here);
    const tokens = (await held(here))!;
    eq(await isActive(here, tokens.access_token), true);
    ok(tokens.refresh_token !== null);
    eq(await password(here), tokens.access_token);
  }));

Deno.test("oauth: a user who says no", () =>
  withProvider(async (here) => {
    const { authorizeUrl, cookie } = await begin(here);
    const answer = await back(here, await new Browser().deny(authorizeUrl), cookie);
    deq([answer.status, answer.body.error.details.error], [403, "access_denied"]);
    eq((await seen(here)).status, "pending");
  }));

Deno.test("oauth: a wrong state and a replayed one", () =>
  withProvider(async (here) => {
    const { query, cookie } = await consent(here);
    const other = new URLSearchParams({ ...Object.fromEntries(query), state: "y".repeat(43) });
    const wrong = await here.world.call("GET", `${CALLBACK}?${other}`, { as: here.key });
    eq(wrong.status, 400);
    const first = await back(here, query, cookie);
    eq(first.status, 200, first.text);
    eq((await back(here, query, cookie)).status, 400);
  }));

Deno.test("oauth: a stolen code is of no use without its verifier", () =>
  withProvider(async (here) => {
    const victim = await consent(here);
    const code = victim.query.get("code")!;
    const form = {
      grant_type: "authorization_code",
      code,
      redirect_uri: `${PUBLIC_URL}${CALLBACK}`,
    };
    const bare = await ask(here, "/token", form);
    deq([bare.status, bare.body.error], [400, "invalid_grant"]);
    const guessed = await ask(here, "/token", { ...form, code_verifier: "x".repeat(43) });
    deq([guessed.status, guessed.body.error], [400, "invalid_grant"]);
    const mine = await consent(here);
    mine.query.set("code", code);
    const injected = await back(here, mine.query, mine.cookie);
    deq([injected.status, injected.body.error.details.error], [409, "invalid_grant"]);
  }));

Deno.test("oauth: refresh tokens rotate, and one that comes twice ends the connection", () =>
  withProvider(async (here) => {
    await connect(here);
    const first = (await held(here))!;
    await advance(here, 55 * MINUTE_MS);
    const second = (await held(here))!;
    ok(second.access_token !== first.access_token && second.refresh_token !== first.refresh_token);
    eq(await isActive(here, second.access_token), true);
    const stolen = { grant_type: "refresh_token", refresh_token: first.refresh_token! };
    const replayed = await ask(here, "/token", stolen);
    deq([replayed.status, replayed.body.error], [400, "invalid_grant"]);
    await advance(here, 55 * MINUTE_MS);
    eq((await seen(here)).status, "expired");
    await connect(here);
    eq((await seen(here)).status, "active");
  }));

Deno.test("oauth: a refresh token that expired", () =>
  withProvider(async (here) => {
    await connect(here);
    await aheadBy(here.issuer, 7201);
    await advance(here, 55 * MINUTE_MS);
    const { status, last_error } = await seen(here);
    eq(status, "expired");
    match(last_error, /invalid_grant/);
    eq(await password(here), null);
  }));

Deno.test("oauth: an integration that is deleted leaves no token that works", () =>
  withProvider(async (here) => {
    await connect(here);
    const { access_token, refresh_token } = (await held(here))!;
    const path = `/api/integrations/${here.id}`;
    eq((await here.world.call("DELETE", path, { as: here.key })).status, 204);
    await here.world.settle();
    eq(await isActive(here, access_token), false);
    eq(await isActive(here, refresh_token!), false);
  }));

Deno.test("oauth: a provider that is down", () =>
  withProvider(async (here) => {
    await connect(here);
    const { query, cookie } = await consent(here);
    await here.stopProvider();
    const late = await back(here, query, cookie);
    deq([late.status, late.body.error.code], [503, "UNAVAILABLE"]);
    const body = { integration_id: here.id };
    const again = { as: here.key, body };
    const begun = await here.world.call("POST", "/api/integrations/oauth/begin", again);
    deq([begun.status, begun.body.error.code], [503, "UNAVAILABLE"]);
    const token = await password(here);
    await here.world.advance(56 * MINUTE_MS);
    eq(await password(here), token);
    await here.world.advance(5 * MINUTE_MS);
    const { status, last_error } = await seen(here);
    eq(status, "active");
    match(last_error, /^The provider cannot be reached/);
    eq(await password(here), null);
  }));
