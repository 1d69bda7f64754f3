import { openStore } from "../../kv/open.ts";
import { type Reset, resetPassword } from "../account/reset.ts";
import { passwordCost } from "../passwords.ts";
import { isRemote, readStoreSettings } from "../settings.ts";
import { systemClock, systemEntropy } from "../system.ts";
import { storePath } from "./store_path.ts";

const HELP = `relay password reset: a new password for somebody who has forgotten theirs

Usage:
  relay password reset <email> [--without-second-factor]

Whoever has the store may do this; it needs no account. Stop the relay first where RELAY_KV is a
path. The new password is printed once and kept nowhere: its owner signs in with it and changes it
by POST /api/account/password. All their sessions end; their API keys go on.

Options:
  --without-second-factor   Take their second factor away too: they have lost it.
  --help                    Show this text.

Exit codes:
  0  the password is another one
  1  it is not: it says why
  2  wrong arguments
`;

const WITHOUT_SECOND_FACTOR = "--without-second-factor";

/** Runs `relay password`; resolves to the exit code. */
export async function passwordCommand(args: string[]): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const problem = problemOf(args);
  if (problem !== null) {
    console.error(`${problem} See: relay password --help`);
    return 2;
  }
  const [, email] = args.filter((argument) => argument !== WITHOUT_SECOND_FACTOR);
  try {
    const { kv } = readStoreSettings(Deno.env.toObject(), false);
    const opened = await openStore(kv !== null && isRemote(kv) ? kv : storePath(kv), systemClock);
    try {
      const ports = { clock: systemClock, entropy: systemEntropy, passwordCost: passwordCost() };
      const without = args.includes(WITHOUT_SECOND_FACTOR);
      say(email!, await resetPassword(opened.store, ports, email!, without));
    } finally {
      await opened.close();
    }
    return 0;
  } catch (error) {
    console.error(`relay: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

function problemOf(args: readonly string[]): string | null {
  const [action, email, ...rest] = args.filter((argument) => argument !== WITHOUT_SECOND_FACTOR);
  if (action !== "reset") return "Say what to do: relay password reset <email>.";
  if (email === undefined) return "Say whose: relay password reset <email>.";
  const wrong = [email, ...rest].find((argument) => argument.startsWith("-")) ?? rest[0];
  if (wrong === undefined) return null;
  return wrong.startsWith("-")
    ? `There is no option ${JSON.stringify(wrong)}.`
    : `One email at a time: ${JSON.stringify(wrong)} is too much.`;
}

function say(
  email: string,
  { password, sessionsEnded, secondFactorRemoved, active }: Reset,
): void {
  console.log(`The password of ${email} is now: ${password}`);
  console.log(`Sessions that ended: ${sessionsEnded}.`);
  if (secondFactorRemoved) console.log("Their second factor is gone.");
  if (!active) console.log("The account is switched off; that stays so.");
}
