import type { OrganizationRecord } from "../../../kv/records/organization.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Settings } from "../../context/context.ts";
import type { FailureThrottle } from "../limits/throttle.ts";
import type { Providers } from "../issuers/providers.ts";
import type { Tokens } from "../tokens/tokens.ts";

/**
 * Gives a new organization the records that another area keeps for it, in the transaction that creates the
 * organization.
 */
export type Founder = (
  tx: Tx,
  organization: Pick<OrganizationRecord, "id" | "plan">,
) => unknown;

/** The parts that signing up and signing in use besides a rule's context. */
export interface SignIn {
  readonly tokens: Pick<Tokens, "sign">;
  /** Limits wrong passwords and wrong codes. */
  readonly logins: Pick<FailureThrottle, "attempt" | "failures">;
  readonly settings: Pick<Settings, "local" | "signup">;
  readonly founders: readonly Founder[];
  readonly providers: Providers;
}
