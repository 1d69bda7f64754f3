import { call } from "../../../api.ts";
import { useNames } from "../../../components/names.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";
import { Canary } from "./canary.ts";
import { Patterns } from "./patterns.ts";
import { SelfApproval } from "./self_approval.ts";
import { ShieldModes } from "./shield_modes.ts";
import { ShieldApprovals } from "./shield_approvals.ts";
import { Suggestions } from "./suggestions.ts";

/** The shield: its modes, who approves, its built-in rules, and a test of all its layers. */
export default function Shield() {
  useNames();
  const { data, error, again } = useData(
    async (signal) => may("system:read") ? await call("shield.settings", { signal }) : null,
    [],
    { types: ["shield", "policy"] },
  );
  return html`
    <div class="title">
      <h1>Shield</h1>
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    ${data === null && error === null && may("system:read") && html`<${Loading} />`}
    ${data !== null && html`
      <${ShieldModes} settings=${data} changed=${again} />
      <${ShieldApprovals} settings=${data} changed=${again} />
      <${SelfApproval} settings=${data} changed=${again} />
    `}
    ${may("system:write") && html`<${Canary} />`}
    ${may("approvals:read") && html`<${Suggestions} />`}
    ${may("patterns:read") && html`<${Patterns} />`}
  `;
}
