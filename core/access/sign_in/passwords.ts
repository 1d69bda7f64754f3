import { Fault } from "../../fault/fault.ts";
import {
  type Cost,
  deriveHash,
  equalHashes,
  formatHash,
  makeGate,
  parseHash,
  type Ports,
  type Recipe,
  type StoredHash,
} from "../../ports/ports.ts";

/** Characters of a new password. */
export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 256;
const SALT_BYTES = 16;

/** Two hashes at once leave the other threads to the requests; 64 more wait about 2 s. */
const gate = makeGate({
  running: 2,
  waiting: 64,
  refuse: () =>
    new Fault("UNAVAILABLE", "Too many sign-ins are in progress. Try again in a few seconds."),
});

/** What is wrong with a new password, as a sentence; null when it may be used. */
export function passwordProblem(password: string): string | null {
  if (!password.isWellFormed()) return "The password must not hold unpaired surrogates.";
  const length = countCharacters(password);
  if (length < PASSWORD_LENGTH_MIN) {
    return `The password needs at least ${PASSWORD_LENGTH_MIN} characters.`;
  }
  if (length > PASSWORD_LENGTH_MAX) {
    return `The password may have at most ${PASSWORD_LENGTH_MAX} characters.`;
  }
  return null;
}

/**
 * Hashes a new password for storage, as a PHC string.
 * @throws {Fault} VALIDATION_FAILED with {@link passwordProblem}, UNAVAILABLE when too many wait
 */
export async function hashPassword(
  password: string,
  { entropy, passwordCost }: Pick<Ports, "entropy" | "passwordCost">,
): Promise<string> {
  const problem = passwordProblem(password);
  if (problem !== null) {
    throw new Fault("VALIDATION_FAILED", problem, {
      issues: [{ path: "body.password", message: problem }],
    });
  }
  const recipe: Recipe = { ...passwordCost, salt: entropy.bytes(SALT_BYTES) };
  return formatHash({ recipe, hash: await derive(password, recipe) });
}

/**
 * Checks a password against a stored hash. For null, an unknown user, it does the same work and returns false,
 * so that the time does not reveal which accounts exist.
 * @throws {Fault} UNAVAILABLE when too many wait
 * @throws {Error} for an unreadable stored hash
 */
export async function verifyPassword(
  password: string,
  phc: string | null,
  { passwordCost }: Pick<Ports, "passwordCost">,
): Promise<boolean> {
  const stored = phc === null ? dummyHash(passwordCost) : readHash(phc);
  const usable = countCharacters(password) <= PASSWORD_LENGTH_MAX;
  const hash = await derive(usable ? password : "", stored.recipe);
  return equalHashes(hash, stored.hash) && usable && phc !== null;
}

/** True for a hash made with other parameters than {@link hashPassword} uses now. */
export function needsRehash(phc: string, { passwordCost }: Pick<Ports, "passwordCost">): boolean {
  const { salt, ...cost } = readHash(phc).recipe;
  const now: Readonly<Record<string, unknown>> = passwordCost;
  return salt.length !== SALT_BYTES ||
    Object.entries(cost).some(([name, value]) => now[name] !== value);
}

function dummyHash(cost: Cost): StoredHash {
  return {
    recipe: { ...cost, salt: new Uint8Array(SALT_BYTES) },
    hash: new Uint8Array(32),
  };
}

function readHash(phc: string): StoredHash {
  const stored = parseHash(phc);
  if (stored === null) throw new Error("a stored password hash cannot be read");
  return stored;
}

/** One character has several encodings; NIST SP 800-63B asks to normalize them. */
function derive(password: string, recipe: Recipe): Promise<Uint8Array> {
  return gate(() => deriveHash(password.normalize("NFKC"), recipe));
}

/** Counts code points; a text that is too long anyway is not walked through. */
function countCharacters(password: string): number {
  if (password.length > 2 * PASSWORD_LENGTH_MAX) return password.length;
  return [...password].length;
}
