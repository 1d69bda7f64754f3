import { challengeBytes } from "../protocol.ts";
import type { AgentFiles } from "./port.ts";

/** Who the agent is: an Ed25519 key that never leaves its state directory. */
export interface Identity {
  /** The raw public key, base64url without padding. */
  readonly publicKey: string;
  /** Signs the relay's challenge; base64url without padding. */
  sign(nonce: string): Promise<string>;
}

/** Reads the agent's key, or makes it at the first start. Throws when the file is damaged. */
export async function loadIdentity(stateDir: string, files: AgentFiles): Promise<Identity> {
  const path = `${stateDir}/agent-key.json`;
  let text = files.read(path);
  if (text === null) {
    text = await makeKey();
    files.write(path, text);
  }
  const jwk = readJwk(text, path);
  const key = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]);
  return {
    publicKey: jwk.x,
    async sign(nonce) {
      const signature = await crypto.subtle.sign("Ed25519", key, challengeBytes(nonce));
      return new Uint8Array(signature).toBase64({ alphabet: "base64url", omitPadding: true });
    },
  };
}

async function makeKey(): Promise<string> {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, true, [
    "sign",
    "verify",
  ]) as CryptoKeyPair;
  const { kty, crv, x, d } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  return JSON.stringify({ kty, crv, x, d }) + "\n";
}

function readJwk(text: string, path: string): JsonWebKey & { x: string } {
  try {
    const jwk = JSON.parse(text) as JsonWebKey | null;
    if (jwk?.crv === "Ed25519" && typeof jwk.x === "string" && typeof jwk.d === "string") {
      return { kty: "OKP", crv: "Ed25519", x: jwk.x, d: jwk.d };
    }
  } catch {
    // The text is not JSON; the sentence below says what to do.
  }
  throw new Error(`${path} holds no Ed25519 key. Restore it, or remove it to be a new agent.`);
}
