import { strictEqual as eq } from "node:assert/strict";
import { claimCodeOf } from "../../../core/access/access.ts";
import { rawRows } from "../../support/raw_rows.ts";
import { type Account, type Answer, OWN_PAGE, type World } from "../../support/world.ts";

export const SESSION = "/api/v1/console-session";
export const INFO = "/api/account/info";
export const PASSWORD = "password 1";

export type Headers = Readonly<Record<string, string>>;

export const signIn = (world: World, email: string, password = PASSWORD, more: object = {}) =>
  world.call("POST", SESSION, { headers: OWN_PAGE, body: { email, password, ...more } });

/** `name=value` of an answer that sets a cookie. */
export const cookieIn = ({ headers }: Answer): string => headers.get("set-cookie")!.split(";")[0]!;

const EMAIL = "ada@example.com";

/** The first person of a relay, of one that asks for its claim code too. */
export async function found(world: World): Promise<Account> {
  const claim_code = claimCodeOf(world.app);
  const body = { email: EMAIL, password: PASSWORD, organization: "Engines", claim_code };
  const answer = await world.call("POST", "/api/v1/signup", { body });
  eq(answer.status, 201, answer.text);
  const { token, user, organization } = answer.body;
  return { token, userId: user.id, org: organization.id, email: EMAIL };
}

/** A person who is signed in by cookie, and the headers of a page of theirs. */
export async function signedIn(world: World): Promise<Account & { cookie: string; page: Headers }> {
  const account = await found(world);
  const answer = await signIn(world, account.email);
  eq(answer.status, 200, answer.text);
  const cookie = cookieIn(answer);
  return { ...account, cookie, page: { ...OWN_PAGE, cookie } };
}

export const infoBy = (world: World, headers: Headers) => world.call("GET", INFO, { headers });

/** Every entry of the store with its version. */
export async function stored(world: World): Promise<string[]> {
  await world.settle();
  const rows = await rawRows(world.kv);
  return rows.map(({ key, value, versionstamp }) =>
    `${key.join(" ")} ${versionstamp} ${Deno.inspect(value, { depth: 9 })}`
  );
}
