import { SYSTEM } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import { type Begun, issueTokens, openSession } from "./open_session.ts";
import { checkSecondFactor, factorAttempts } from "./factor_code.ts";
import type { Stepping } from "../../work/work.ts";
import type { Background } from "../../ports/ports.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { networkOf } from "../limits/network.ts";
import type { Attempted } from "../limits/throttle.ts";
import type { SignIn } from "./parts.ts";
import { hashPassword, needsRehash, verifyPassword } from "./passwords.ts";
import type { Found } from "../../../kv/store/reader.ts";

/** The credentials of a sign-in. */
export interface Login {
  readonly email: string;
  readonly password: string;
  /** Of the second factor. */
  readonly code?: string | undefined;
}

interface Parts extends Pick<SignIn, "tokens" | "logins"> {
  readonly background: Pick<Background, "run">;
}

/**
 * Signs a user in. Unknown users and wrong passwords get the same answer in the same time; a second factor is
 * asked for only after the right password.
 * @throws {Fault} INVALID_LOGIN, RATE_LIMIT_EXCEEDED
 */
export async function logIn(work: Stepping, parts: Parts, input: Login) {
  const { organization, user, session } = await beginSession(work, parts, input);
  return await issueTokens(work, parts.tokens, organization, user, session);
}

/** Opens a session for the user with these credentials. @throws {Fault} as `logIn` */
export async function beginSession(
  work: Stepping,
  parts: Omit<Parts, "tokens">,
  input: Login,
): Promise<Begun> {
  const { store, ports } = work;
  const who = passwordAttempts(networkOf(work.request.address), input.email);
  const found = await parts.logins.attempt(who, () => byPassword(work, parts, input));
  const organization = await store.get(organizations, SYSTEM, found.tenant.org);
  if (!found.record.active || !organization?.active) {
    throw new Fault("INVALID_LOGIN", "The user or the organization is not active.");
  }
  const password = needsRehash(found.record.password, ports)
    ? await hashPassword(input.password, ports)
    : found.record.password;
  return { organization, ...await enter(work, parts, found, password, input.code) };
}

/** Attempts at the password of an email, from one network. */
const passwordAttempts = (network: string, email: string): Attempted => ({
  key: `${network} ${email}`,
  of: { type: "address", id: network },
  whose: "at this email from your network address",
});

/** The user with this email and password. @throws {Fault} INVALID_LOGIN */
async function byPassword(
  work: Stepping,
  parts: Omit<Parts, "tokens">,
  { email, password }: Login,
): Promise<Found<UserRecord>> {
  const found = await work.store.lookup(users, "email", [email]);
  const good = await verifyPassword(password, found?.record.password ?? null, work.ports);
  if (found !== null && good) return found;
  if (found !== null) recordFailure(work, parts, found, "password");
  throw new Fault("INVALID_LOGIN");
}

/** Checks the second factor and opens the session, unless the user has changed meanwhile. */
async function enter(
  work: Stepping,
  parts: Omit<Parts, "tokens">,
  found: Found<UserRecord>,
  password: string,
  code: string | undefined,
) {
  const { tenant, record: { id } } = found;
  const entering = () =>
    work.store.transact(async (tx) => {
      const now = await tx.get(users, tenant, id);
      if (!now?.active || now.password !== found.record.password) throw new Fault("INVALID_LOGIN");
      const user = password === now.password ? now : tx.put(users, tenant, { ...now, password });
      const shown = await checkSecondFactor(work, tx, tenant.org, id, code);
      const by = { ...work, actor: { id } };
      const resource = { type: "user", id } as const;
      if (shown === "recovery_code") {
        const details = { email: user.email, address: work.request.address };
        emit(by, tx, tenant, { type: "recovery_code_used", resource, details });
      }
      emit(by, tx, tenant, {
        type: "user_login",
        resource,
        details: { email: user.email, address: work.request.address, second_factor: shown },
      });
      return {
        user,
        session: await openSession(work, tx, tenant, user, { second_factor: shown !== "none" }),
      };
    });
  try {
    if (code === undefined) return await entering();
    return await parts.logins.attempt(factorAttempts(id), entering);
  } catch (error) {
    if (error instanceof Fault && error.details.reason === "second_factor_wrong") {
      recordFailure(work, parts, found, "second_factor");
    }
    throw error;
  }
}

/** Runs in the background: only known users have a failure to record, and a slower answer would reveal them. */
function recordFailure(
  work: Stepping,
  { background }: Pick<Parts, "background">,
  { tenant, record: user }: Found<UserRecord>,
  wrong: "password" | "second_factor",
): void {
  background.run(
    "the record of a failed sign-in",
    () =>
      work.store.transact((tx) =>
        emit({ ...work, actor: { id: user.id } }, tx, tenant, {
          type: "user_login_failed",
          resource: { type: "user", id: user.id },
          details: { email: user.email, address: work.request.address, wrong },
        })
      ),
  );
}
