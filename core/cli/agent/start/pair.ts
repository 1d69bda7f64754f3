import { relayAddress } from "../../address.ts";
import { clientOf, expectStatus } from "../../client.ts";
import type { AgentFiles } from "../interfaces.ts";
import { trustNextLink } from "../link/pin.ts";

/** The result of pairing in the state directory: the relay's address and the credential. */
export interface Pairing {
  readonly url: string;
  readonly device_id: string;
  readonly credential: string;
}

/** A new pairing, with the name that the relay reserved; earlier relays reserve none. */
export interface NewPairing extends Pairing {
  readonly agent_name?: string;
}

const pathOf = (stateDir: string) => `${stateDir}/credential.json`;

/**
 * Pairs this machine: sends the code, confirms, and stores the credential in a file that only its owner may read.
 * @throws {Error} with the relay's answer
 */
export async function pairMachine(
  { url, code, name, stateDir }: { url: string; code: string; name: string; stateDir: string },
  files: AgentFiles,
  send: typeof fetch = fetch,
): Promise<NewPairing> {
  // Check the directory before the code is spent: a credential that cannot be stored would be lost.
  files.makeDir(stateDir);
  const relay = clientOf(relayAddress(url), undefined, send);
  const asked = { device_name: name, pairing_code: code };
  const answer = await relay<{ device_id: string; agent_name?: string; token: string }>(
    "POST",
    "/api/devices/pair",
    asked,
  );
  const { device_id, agent_name, token } = expectStatus(answer, 201, "the pairing code");
  const confirmation = await relay<{ credential: string }>("POST", "/api/devices/confirm", {
    device_id,
    token,
  });
  const { credential } = expectStatus(confirmation, 200, "the confirmation");
  const pairing = { url, device_id, credential };
  trustNextLink(stateDir, files);
  files.write(pathOf(stateDir), JSON.stringify(pairing) + "\n");
  return agent_name === undefined ? pairing : { ...pairing, agent_name };
}

/** The stored pairing, or null. @throws {Error} when the file is damaged */
export function readPairing(stateDir: string, files: AgentFiles): Pairing | null {
  const path = pathOf(stateDir);
  const text = files.read(path);
  if (text === null) return null;
  try {
    const { url, device_id, credential }: Partial<Pairing> = JSON.parse(text);
    if (URL.canParse(url ?? "") && device_id && credential) {
      return { url: url!, device_id, credential };
    }
  } catch {
    // Reported below, with what to do about it.
  }
  throw new Error(`${path} holds no pairing. Remove it and pair this machine again.`);
}
