import { ok, strictEqual as eq } from "node:assert/strict";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { type Account, type Answer, OWN_PAGE, World } from "../../support/world.ts";
import { SESSION } from "./console_fixtures.ts";
import { CLIENT, FakeIssuer, ISSUER, SECRETS } from "./fake_issuer.ts";

export const START = `${SESSION}/oidc/start`;
export const CALLBACK = `${SESSION}/oidc/callback`;
export const PUBLIC = "http://localhost";
export const ENTRY = { issuer: ISSUER, audience: "https://relay.example/mcp", client_id: CLIENT };
type Options = NonNullable<Parameters<typeof World.open>[0]>;

export async function open(options: Options = {}): Promise<{ world: World; issuer: FakeIssuer }> {
  const world = await World.open({
    config: { ...NO_LIMITS, auth: { issuers: [ENTRY] } },
    settings: { publicUrl: PUBLIC },
    environment: SECRETS,
    ...options,
  });
  const issuer = new FakeIssuer(world.clock);
  world.network.reply = issuer.reply;
  return { world, issuer };
}

export const verified = ({ email }: Pick<Account, "email">) => ({ email, email_verified: true });

/** A browser goes to the issuer: where it is sent, and the cookie that it keeps. */
export async function start(
  world: World,
  returnTo?: string,
): Promise<{ address: string; cookie: string }> {
  const path = `${START}?issuer=${encodeURIComponent(ISSUER)}${
    returnTo === undefined ? "" : `&return_to=${encodeURIComponent(returnTo)}`
  }`;
  const answer = await world.call("GET", path, { headers: OWN_PAGE });
  eq(answer.status, 303, answer.text);
  const cookie = answer.headers.get("set-cookie")!.split(";")[0]!;
  return { address: answer.headers.get("location")!, cookie };
}

/** The browser comes back, from another site. */
export const comeBack = (world: World, query: URLSearchParams, cookie: string) =>
  world.call("GET", `${CALLBACK}?${query}`, { headers: { ...FROM_ISSUER, cookie } });
const FROM_ISSUER = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };

/** A whole sign-in. */
export async function enter(
  { world, issuer }: { world: World; issuer: FakeIssuer },
  claims: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { address, cookie } = await start(world);
  return await comeBack(world, issuer.consent(address, claims), cookie);
}

export const cookiesOf = ({ headers }: Answer) => headers.getSetCookie();
export const sessionIn = (answer: Answer) => cookiesOf(answer).at(-1)!.split(";")[0]!;

/** Why a sign-in failed; it set no session. */
export function reasonOf(answer: Answer): string {
  eq(answer.status, 303);
  ok(cookiesOf(answer).every((line) => line.includes("Max-Age=0")), cookiesOf(answer).join());
  const [, reason] = /^\/console#sign_in_failed=(\w+)$/.exec(answer.headers.get("location")!)!;
  return reason!;
}
