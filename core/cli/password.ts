import { readStoreSettings } from "../context/context.ts";
import { type Reset, resetPassword } from "../access/access.ts";
import { passwordCost, systemClock, systemEntropy } from "../ports/ports.ts";
import { UsageError } from "./arguments.ts";
import { runCommand } from "./command.ts";
import { withStore } from "./store.ts";

const HELP = `relay password reset: replace a forgotten password

Usage:
  relay password reset <email> [--without-second-factor]

The command needs access to the store, but no account. Stop the relay first if RELAY_KV is a path. The
new password is printed once and stored only as a hash. The user signs in with it and changes it with
POST /api/account/password. All sessions of that person end; their API keys stay valid. Until they change
the password, their approvals do not count as independent of anyone's request, because the person who
ran this command knows it.

Options:
  --without-second-factor   Also remove their second factor, if it is lost.
  --help                    Show this text.

Exit codes:
  0  the password was replaced
  1  the password was not replaced; the reason is printed
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
  if (email === undefined) throw new UsageError("Give the email: relay password reset <email>.");
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
  if (secondFactorRemoved) console.log("Their second factor was removed.");
  if (!active) console.log("The account stays deactivated.");
}
