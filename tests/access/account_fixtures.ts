import { strictEqual as eq } from "node:assert/strict";
import { TOTP } from "otpauth";
import type { Account, Answer, World } from "../support/world.ts";

export const SETTINGS = "/api/account/settings";
export const FACTOR = "/api/account/second-factor";

/** How an answer refuses: its status and code. */
export const refused = ({ status, body }: Answer) => [status, body.error.code];

export function logIn(
  world: World,
  email: string,
  password: string,
  code?: string,
  from = "192.0.2.1",
) {
  const body = { email, password, ...(code !== undefined && { code }) };
  return world.call("POST", "/api/v1/login", { body, from });
}

/** True while a credential is accepted. */
export const alive = async (world: World, as: string): Promise<boolean> =>
  (await world.call("GET", "/api/account/info", { as })).status === 200;

/** What an authenticator shows at this moment. */
export const codeOf = (world: World, secret: string): string =>
  new TOTP({ secret }).generate({ timestamp: world.clock.nowMs });

/** Sets a second factor up; the secret and the recovery codes. */
export async function enrol(world: World, { token }: Pick<Account, "token">, password: string) {
  const made = await world.call("POST", FACTOR, { as: token, body: { password } });
  eq(made.status, 201);
  const { secret } = made.body;
  const body = { code: codeOf(world, secret) };
  const confirmed = await world.call("POST", `${FACTOR}/confirm`, { as: token, body });
  eq(confirmed.status, 200);
  return { secret, uri: made.body.uri, codes: confirmed.body.recovery_codes as string[] };
}
