import type { Clock } from "../../../ports/ports.ts";
import {
  publicKeyOf,
  type RunFrame,
  verdictText,
  verifiesText,
  type WelcomeFrame,
  welcomeText,
} from "../../../protocol/protocol.ts";

/** Checks the verdicts of one link. */
export interface Verdicts {
  /** Why none of a frame's commands may start, or null. A frame passes only once. */
  refuse(frame: RunFrame): string | null;
  /** The relay's time now, in ms. */
  relayNow(): number;
}

/**
 * Opens the check of a link after its welcome, which answers the agent's `nonce`; null when the relay does not hold
 * the verdict key that it shows.
 */
export function openVerdicts(welcome: WelcomeFrame, nonce: string, clock: Clock): Verdicts | null {
  const key = publicKeyOf(welcome.verdict_key);
  if (key === null || !verifiesText(key, welcomeText(welcome, nonce), welcome.signature)) {
    return null;
  }
  const link = { agentId: welcome.agent_id, nonce };
  // Expiry follows the relay's clock, since this machine's may be wrong.
  const offsetMs = welcome.time_ms - clock.now();
  const relayNow = () => clock.now() + offsetMs;
  let last = 0;
  return {
    relayNow,
    refuse(frame) {
      if (frame.signature === "") return "it has no verdict";
      if (!verifiesText(key, verdictText(link, frame), frame.signature)) {
        return "its verdict is not valid for these bytes, this agent and this link";
      }
      if (frame.batch <= last) return "its verdict was used before";
      last = frame.batch;
      if (relayNow() >= frame.expires_at_ms) return "its verdict has expired";
      return null;
    },
  };
}
