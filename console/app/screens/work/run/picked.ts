import type { Agent } from "../../../../../core/client/client.ts";
import { Badge } from "../../../components/badge.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { target } from "./state.ts";
import { labelWords, NOBODY, withoutAgent } from "./target.ts";

/** A fleet command that is run again may have a thousand agents. */
const SHOWN = 20;

/** What is picked, each with a button that removes it. */
export function Picked() {
  const picked = target.value;
  if (picked.kind === "agents" && picked.agents.length === 0) return null;
  return html`
    <ul class="picked" aria-label="Picked agents">
      ${picked.kind === "agents" ? agentItems(picked.agents) : html`
        <li>
          ${picked.kind === "all"
            ? `All ${picked.total} agents`
            : `${onOneLine(labelWords(picked.labels))}: ${picked.total} agents`}
          <${RemoveAll} label="Remove" />
        </li>
      `}
    </ul>
  `;
}

const agentItems = (agents: readonly Agent[]) =>
  html`
    ${agents.slice(0, SHOWN).map(({ id, name, status }) =>
      html`
        <li key=${id}>
          ${onOneLine(name)} ${status !== "online" && html`
            <${Badge} state=${status} />
          `}
          <button type="button" aria-label=${`Remove ${onOneLine(name)}`}
            onClick=${() => target.value = withoutAgent(target.value, id)}>×</button>
        </li>
      `
    )}
    ${agents.length > SHOWN && html`
      <li>and ${agents.length - SHOWN} more <${RemoveAll} label="Remove all" /></li>
    `}
  `;

const RemoveAll = ({ label }: { readonly label: string }) =>
  html`
    <button type="button" aria-label=${label} onClick=${() => target.value = NOBODY}>×</button>
  `;
