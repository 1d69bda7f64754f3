import { createClient, RelayError } from "../../../client/client.ts";
import { printableLine } from "../../printable_line.ts";
import { relayAddress } from "../../address.ts";
import { withRemedy } from "../../unreached.ts";
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
  const relay = createClient({ url: relayAddress(url), fetch: send });
  try {
    const { device_id, agent_name, token }: Reserved = await relay.call("devices.pair", {
      body: { device_name: name, pairing_code: code },
    });
    const { credential } = await relay.call("devices.confirm", { body: { device_id, token } });
    const pairing = { url, device_id, credential };
    trustNextLink(stateDir, files);
    files.write(pathOf(stateDir), JSON.stringify(pairing) + "\n");
    return agent_name === undefined ? pairing : { ...pairing, agent_name };
  } catch (error) {
    throw error instanceof RelayError ? new Error(printableLine(withRemedy(error.message))) : error;
  }
}

interface Reserved {
  readonly device_id: string;
  /** Earlier relays reserve no name. */
  readonly agent_name?: string;
  readonly token: string;
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
