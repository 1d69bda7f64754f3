import { CommandRun } from "../../../components/command/command_run.ts";
import { FleetRun } from "../../../components/command/fleet_run.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import type { Started } from "./state.ts";
import { nameOf } from "./target.ts";

/** A command that was started here, with its output. */
export function StartedCard({ started, again }: {
  readonly started: Started;
  /** Puts the command and its agents back into the form. */
  readonly again: () => void;
}) {
  const { command, fleet, target } = started;
  const text = onOneLine((command ?? fleet).command);
  const on = onOneLine(nameOf(target));
  return html`
    <section class="card" aria-label=${`${text} on ${on}`}>
      <div class="title">
        <h2><code>${text}</code> <span class="soft">on ${on}</span></h2>
        <button type="button" onClick=${again}>Again</button>
      </div>
      ${command !== null
        ? html`
          <${CommandRun} agentId=${command.agent_id} commandId=${command.command_id}
            label=${`Output of ${text}`} status=${command.status} />
        `
        : html`<${FleetRun} id=${fleet.id} />`}
    </section>
  `;
}
