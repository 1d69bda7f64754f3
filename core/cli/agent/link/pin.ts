import type { WelcomeFrame } from "../../../protocol/protocol.ts";
import { handoverText, publicKeyOf, verifiesText } from "../../../protocol/statements.ts";
import type { AgentFiles } from "../interfaces.ts";

/** The organization's verdict key as it is remembered here; null before the first contact. */
export function pinnedVerdictKey(stateDir: string, files: Pick<AgentFiles, "read">): string | null {
  return files.read(pinPath(stateDir))?.trim() || null;
}

/** What became of the verdict key that a welcome shows: `unwritten` is one that was followed and could not be kept. */
export type Pinned = "first" | "same" | "followed" | "unwritten";

/**
 * Remembers the verdict key at first contact, and the one that it was handed over to. Null when the relay
 * now shows another one: then somebody else answers under its address, or the state directory belongs to
 * another one.
 */
export function pinVerdictKey(
  stateDir: string,
  { verdict_key, handovers = [] }: Pick<WelcomeFrame, "verdict_key" | "handovers">,
  files: Pick<AgentFiles, "read" | "write">,
): Pinned | null {
  const pinned = pinnedVerdictKey(stateDir, files);
  if (pinned === verdict_key) return "same";
  if (pinned !== null && !leads(pinned, handovers, verdict_key)) return null;
  try {
    files.write(pinPath(stateDir), `${verdict_key}\n`);
  } catch (error) {
    if (pinned === null) throw error;
    // A full disk: the commands that make room must still come through, and the next link follows again.
    return "unwritten";
  }
  return pinned === null ? "first" : "followed";
}

/** Whether each key from the pinned one on has signed for the next, up to the one that is shown. */
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
