import {
  handoverText,
  publicKeyOf,
  verifiesText,
  type WelcomeFrame,
} from "../../../protocol/protocol.ts";
import type { AgentFiles } from "../interfaces.ts";
import { forgetCheckpoints } from "../witness.ts";

/** The pinned verdict key of the organization; null before the first contact. */
export function pinnedVerdictKey(stateDir: string, files: Pick<AgentFiles, "read">): string | null {
  return files.read(pinPath(stateDir))?.trim() || null;
}

/**
 * The result of pinning. `replaced`: a person paired this machine again, and the relay's key differs from the pinned
 * one. `unwritten`: the new key was followed but could not be stored.
 */
export type Pinned = "first" | "same" | "followed" | "replaced" | "unwritten";

/**
 * Pins the verdict key at first contact, and later the key that it handed over to. Null when the relay shows another
 * key: then a different relay answers at its address, or the state directory belongs to a different relay.
 */
export function pinVerdictKey(
  stateDir: string,
  { verdict_key, handovers = [] }: Pick<WelcomeFrame, "verdict_key" | "handovers">,
  files: Pick<AgentFiles, "read" | "write">,
): Pinned | null {
  const pinned = pinnedVerdictKey(stateDir, files);
  if (files.read(pairedPath(stateDir))) {
    trustVerdictKey(stateDir, verdict_key, files);
    return pinned === null ? "first" : pinned === verdict_key ? "same" : "replaced";
  }
  if (pinned === verdict_key) return "same";
  if (pinned !== null && !leads(pinned, handovers, verdict_key)) return null;
  try {
    files.write(pinPath(stateDir), `${verdict_key}\n`);
  } catch (error) {
    if (pinned === null) throw error;
    // The disk may be full: commands that free space must still run, and the next link follows again.
    return "unwritten";
  }
  return pinned === null ? "first" : "followed";
}

/** Pins a key because a person trusts it. Another key than the pinned one belongs to a relay with another log. */
export function trustVerdictKey(
  stateDir: string,
  verdictKey: string,
  files: Pick<AgentFiles, "read" | "write">,
): void {
  if (pinnedVerdictKey(stateDir, files) !== verdictKey) {
    forgetCheckpoints(stateDir, files);
    files.write(pinPath(stateDir), `${verdictKey}\n`);
  }
  if (files.read(pairedPath(stateDir))) files.write(pairedPath(stateDir), "");
}

/** Lets the next link pin the key that it finds: whoever pairs this machine trusts the relay that took the code. */
export const trustNextLink = (stateDir: string, files: Pick<AgentFiles, "write">): void =>
  files.write(pairedPath(stateDir), "paired\n");

/** True when each key from the pinned one on signed for the next, up to the shown one. */
function leads(
  pinned: string,
  handovers: NonNullable<WelcomeFrame["handovers"]>,
  shown: string,
): boolean {
  let last = pinned;
  for (const { verdict_key, signature } of handovers) {
    const key = publicKeyOf(last);
    if (key === null || !verifiesText(key, handoverText(verdict_key), signature)) return false;
    last = verdict_key;
  }
  return last === shown;
}

const pinPath = (stateDir: string) => `${stateDir}/verdict-key`;
const pairedPath = (stateDir: string) => `${stateDir}/newly-paired`;
