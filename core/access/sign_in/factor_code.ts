import { hash } from "node:crypto";
import { type SecondFactorRecord, secondFactors } from "../../../kv/records/second_factor.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";
import type { Attempted } from "../limits/throttle.ts";
import { homeOf } from "../roles/grant.ts";
import { stepOf } from "./totp.ts";

/** Attempts at a person's codes, from any address. */
export const factorAttempts = (userId: string): Attempted => ({
  key: `second factor ${userId}`,
  of: { type: "user", id: userId },
  whose: "at the codes of this user",
});

/** The second factor that a sign-in used. */
export type FactorShown = "none" | "totp" | "recovery_code";

/**
 * Checks and uses up the code of a sign-in, in the transaction that opens the session.
 * @throws {Fault} INVALID_LOGIN, with `details.reason` second_factor_required or second_factor_wrong
 */
export async function checkSecondFactor(
  context: Pick<Context, "sealer" | "ports">,
  tx: Tx,
  org: string,
  userId: string,
  code: string | undefined,
): Promise<FactorShown> {
  const home = homeOf(org);
  const factor = await tx.get(secondFactors, home, userId);
  if (factor === null || factor.confirmed_at_ms === null) return "none";
  if (code === undefined) {
    throw new Fault("INVALID_LOGIN", "A second factor is required. Send its `code` too.", {
      reason: "second_factor_required",
    });
  }
  const digest = hash("sha256", code);
  if (factor.recovery_hashes.includes(digest)) {
    const recovery_hashes = factor.recovery_hashes.filter((other) => other !== digest);
    tx.put(secondFactors, home, { ...factor, recovery_hashes });
    return "recovery_code";
  }
  const step = freshStep(context, factor, code);
  if (step === null) {
    throw new Fault("INVALID_LOGIN", "The code is wrong or already used. Enter the next one.", {
      reason: "second_factor_wrong",
    });
  }
  tx.put(secondFactors, home, { ...factor, last_step: step });
  return "totp";
}

/** The time step of a correct code. @throws {Fault} FORBIDDEN */
export function mustMatch(
  context: Pick<Context, "sealer" | "ports">,
  factor: SecondFactorRecord,
  code: string,
): number {
  const step = freshStep(context, factor, code);
  if (step !== null) return step;
  throw new Fault("FORBIDDEN", "The code is wrong or already used. Enter the next one.");
}

/** The time step of a correct code that was not used before; null for any other. */
function freshStep(
  { sealer, ports }: Pick<Context, "sealer" | "ports">,
  { id, sealed_secret, last_step }: SecondFactorRecord,
  code: string,
) {
  const step = stepOf(sealer.open(sealed_secret, id), code, ports.clock.now());
  return step !== null && step > last_step ? step : null;
}
