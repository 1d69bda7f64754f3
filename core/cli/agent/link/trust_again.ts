import { printableLine } from "../../printable_line.ts";

/** The relay that an agent dials. */
export interface Target {
  readonly url: string;
  readonly token: string;
  readonly stateDir: string;
}

/** What the credentials of paired devices begin with. */
const DEVICE_PREFIX = "svc_device_";

/** Why the agent refuses a relay that shows another verdict key, and the command that trusts it. */
export const anotherKey = ({ stateDir }: Target, shown: string): string =>
  "this agent refuses the relay: its verdict key differs from the pinned one; if the relay was set up anew, and " +
  "its operator confirms the key (verdict_check.verdict_key of GET /api/v1/gitops/guard/<agent id>), trust it: " +
  `relay agent trust --state ${stateDir} --key=${printableLine(shown)}`;

/** What to do when the relay does not know the credential of this device, as the end of a sentence. */
export const pairAgain = ({ url, token, stateDir }: Target): string =>
  token.startsWith(DEVICE_PREFIX)
    ? "; if the relay was set up anew, or the device was deleted, pair this machine again: relay agent pair " +
      `--state ${stateDir} --url ${url} --code <the code of relay pair>`
    : "";
