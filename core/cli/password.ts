import { type Reset, resetPassword } from "../access/sign_in/reset.ts";
import { passwordCost } from "../ports/password_hash.ts";
import { readStoreSettings } from "./settings.ts";
import { systemClock, systemEntropy } from "../ports/system.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { withStore } from "./store.ts";

const HELP = `relay password reset: a new password for somebody who has forgotten theirs

Usage:
  relay password reset <email> [--without-second-factor]

Whoever has the store may do this; it needs no account. Stop the relay first where RELAY_KV is a
path. The new password is printed once and kept nowhere: its owner signs in with it and changes it
by POST /api/account/password. All their sessions end; their API keys go on. Until they have changed
it, what they approve counts as everybody's, because whoever reset it could have signed in.

Options:
  --without-second-factor   Take their second factor away too: they have lost it.
  --help                    Show this text.

Exit codes:
  0  the password is another one
  1  it is not: it says why
  2  wrong arguments
`;

/** Runs `relay password`; resolves to the exit code. */
export function passwordCommand(args: string[]): Promise<number> {
  return runCommand({
    name: "password",
    help: HELP,
    switches: ["without-second-factor"],
    positional: 2,
    run: reset,
  }, args);
}

async function reset(
  options: { readonly "without-second-factor"?: boolean },
  action?: string,
  email?: string,
): Promise<void> {
  if (action !== "reset") throw new UsageError("Say what to do: relay password reset <email>.");
  if (email === undefined) throw new UsageError("Say whose: relay password reset <email>.");
  const ports = { clock: systemClock, entropy: systemEntropy, passwordCost: passwordCost() };
  const without = options["without-second-factor"] ?? false;
  const { kv } = readStoreSettings(Deno.env.toObject(), false);
  print(email, await withStore(kv, (store) => resetPassword(store, ports, email, without)));
}

function print(
  email: string,
  { password, sessionsEnded, secondFactorRemoved, active }: Reset,
): void {
  console.log(`The password of ${email} is now: ${password}`);
  console.log(`Sessions that ended: ${sessionsEnded}.`);
  if (secondFactorRemoved) console.log("Their second factor is gone.");
  if (!active) console.log("The account is switched off; that stays so.");
}
