import { hash } from "node:crypto";
import type { Entropy } from "../../ports/ports.ts";

/** Crockford's: no letter that looks like a digit, and no U. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_BYTES = 10;
const GROUP = 4;

/** A one-time code of 80 random bits that a person can read out: `7K3M-QX1D-…`, four groups of four. */
export function makePairingCode(entropy: Pick<Entropy, "bytes">): string {
  let bits = entropy.bytes(CODE_BYTES).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  let text = "";
  for (let left = (CODE_BYTES * 8) / 5; left > 0; left--) {
    text = ALPHABET.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text.match(new RegExp(`.{${GROUP}}`, "g"))!.join("-");
}

/** The hash by which a code is found, however its letters, dashes and spaces were typed. */
export function hashPairingCode(text: string): string {
  const typed = text.toUpperCase().replaceAll(/[\s-]/g, "");
  return hash("sha256", typed.replaceAll("O", "0").replaceAll(/[IL]/g, "1"));
}
