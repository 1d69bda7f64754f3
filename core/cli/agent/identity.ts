import { Buffer } from "node:buffer";
import { privateKeyOf, rawPublicKey, signText } from "../../protocol/protocol.ts";
import type { AgentFiles } from "./interfaces.ts";

/** The agent's identity: an Ed25519 key that never leaves its state directory. */
export interface Identity {
  /** The raw public key, base64url without padding. */
  readonly publicKey: string;
  /** Signs an answer to the relay's challenge, or a receipt; base64url without padding. */
  sign(text: string): string;
}

/** Reads the agent's key, or makes it at the first start. Throws when the file is damaged. */
export async function loadIdentity(stateDir: string, files: AgentFiles): Promise<Identity> {
  const path = `${stateDir}/agent-key.json`;
  let text = files.read(path);
  if (text === null) {
    text = await makeKey();
    files.write(path, text);
  }
  const { x, d } = readJwk(text, path);
  const key = privateKeyOf(Buffer.from(d, "base64url"));
  return { publicKey: x, sign: (signed) => signText(key, signed) };
}

async function makeKey(): Promise<string> {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const { kty, crv, x, d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  return JSON.stringify({ kty, crv, x, d }) + "\n";
}

function readJwk(text: string, path: string): { x: string; d: string } {
  try {
    const { x, d, crv }: JsonWebKey = JSON.parse(text);
    const whole = crv === "Ed25519" && typeof x === "string" && typeof d === "string";
    if (whole && rawPublicKey(privateKeyOf(Buffer.from(d, "base64url"))) === x) return { x, d };
  } catch {
    // Reported below, with what to do about it.
  }
  throw new Error(
    `${path} holds no Ed25519 key. Restore it, or remove it to register a new agent.`,
  );
}
