import type { Links } from "../links/links.ts";
import type { Sessions } from "../guard/sessions.ts";
import type { PoliciesInForce } from "../guard/in_force.ts";
import type { Elsewhere } from "./elsewhere.ts";
import type { RunningCommands } from "./running_commands.ts";

/** The parts of the relay that judge, record and send commands. */
export interface CommandParts {
  readonly links: Pick<Links, "of" | "holder">;
  readonly commands: RunningCommands;
  readonly elsewhere: Elsewhere;
  readonly sessions: Sessions;
  readonly policyCache: PoliciesInForce;
}
