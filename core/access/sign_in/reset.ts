import { secondFactors } from "../../../kv/records/second_factor.ts";
import { users } from "../../../kv/records/user.ts";
import type { Store } from "../../../kv/store/store.ts";
import { type DetailsOf, eventJson, OPERATOR_ACTOR } from "../../events/events.ts";
import { makeSecretText } from "../keys/value.ts";
import { hashPassword } from "./passwords.ts";
import { everybody } from "../keys/people_behind.ts";
import type { Ports } from "../../ports/ports.ts";
import { homeOf } from "../roles/grant.ts";
import { canonicalEmail } from "../../identity/identity.ts";
import { startSessionsAnew } from "./password.ts";

/** 120 bits. */
const PASSWORD_BYTES = 15;

/** The outcome of a password reset. */
export interface Reset {
  /** The new password; it is stored nowhere. */
  readonly password: string;
  readonly sessionsEnded: number;
  readonly secondFactorRemoved: boolean;
  /** False for a deactivated account, which stays deactivated. */
  readonly active: boolean;
}

/**
 * Replaces a person's password with a new one and ends all their sessions; on request also removes their
 * second factor.
 * @throws {Error} for an unknown email
 */
export async function resetPassword(
  store: Store,
  ports: Pick<Ports, "clock" | "entropy" | "passwordCost">,
  email: string,
  withoutSecondFactor: boolean,
): Promise<Reset> {
  const password = makeSecretText("", PASSWORD_BYTES, ports.entropy);
  const hash = await hashPassword(password, ports);
  return await store.transact(async (tx) => {
    const found = await tx.lookup(users, "email", [canonicalEmail(email) ?? ""]);
    if (found === null) throw new Error(`nobody here has the email ${JSON.stringify(email)}`);
    const { tenant, record: user } = found;
    const session = { tenant, sessionId: null };
    // Anybody with access to the store may know the new password.
    const changed = { ...user, password: hash, also_of: everybody() };
    const sessions_ended = await startSessionsAnew(tx, session, changed);
    const home = homeOf(tenant.org);
    const factor = withoutSecondFactor ? await tx.get(secondFactors, home, user.id) : null;
    if (factor !== null) tx.delete(secondFactors, home, user.id);
    const details: DetailsOf<"password_reset"> = {
      email: user.email,
      second_factor_removed: factor !== null,
      sessions_ended,
    };
    const resource = { type: "user", id: user.id } as const;
    const work = { ports, actor: OPERATOR_ACTOR };
    const happening = { type: "password_reset", resource, details } as const;
    tx.append(tenant, happening.type, eventJson(work, tenant, happening));
    return {
      password,
      sessionsEnded: sessions_ended,
      secondFactorRemoved: factor !== null,
      active: user.active,
    };
  });
}
