import {
  type PolicyFrame,
  policyText,
  policyVersionOf,
  publicKeyOf,
  verifiesText,
  type WelcomeFrame,
} from "../../protocol/protocol.ts";
import type { AgentFiles } from "./interfaces.ts";

/** The file of policies in the state directory. */
export const POLICY_FILE = "policies.json";

/** The agent's policies, as the relay last sent them. */
export interface HeldPolicies {
  /** The version in the file; undefined when it is missing or unreadable. */
  version(): string | undefined;
  /** Stores a frame's policies. Returns why it is refused, or null. Throws when the file cannot be written. */
  take(frame: PolicyFrame, welcome: WelcomeFrame, nonce: string): string | null;
}

/** Opens the file of policies in the agent's state directory. */
export function openPolicies(stateDir: string, files: AgentFiles): HeldPolicies {
  const path = `${stateDir}/${POLICY_FILE}`;
  let link = "";
  let last = 0;
  return {
    version() {
      try {
        const text = files.read(path);
        return text === null ? undefined : policyVersionOf(JSON.parse(text));
      } catch {
        return undefined;
      }
    },
    take(frame, welcome, nonce) {
      if (nonce !== link) {
        link = nonce;
        last = 0;
      }
      const key = publicKeyOf(welcome.verdict_key);
      const text = policyText({ agentId: welcome.agent_id, nonce }, frame);
      if (key === null || !verifiesText(key, text, frame.signature)) {
        return "its policies are not signed by the relay for this agent and this link";
      }
      if (frame.serial <= last) return "its policies were sent before";
      if (policyVersionOf(frame.policies) !== frame.policy_version) {
        return "its policies do not match their version";
      }
      last = frame.serial;
      files.write(path, `${JSON.stringify(frame.policies, null, 2)}\n`);
      return null;
    },
  };
}
