import { type Alert, call, type ListedCommand } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Name } from "../../../components/names.ts";
import { Time } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../../router.ts";
import { Card } from "./card.ts";

const SHOWN = 5;

/** The newest commands. */
export function CommandsCard() {
  const newest = useData(
    async (signal) => (await call("commands.list", { query: { limit: SHOWN }, signal })).commands,
    [],
    { types: ["command"] },
  );
  return html`
    <${Card} title="Last commands" to="/commands" data=${newest}>${(
      commands: readonly ListedCommand[],
    ) =>
      commands.length === 0 ? html`<p class="soft">No command was run yet.</p>` : html`
        <ul class="lines">
          ${commands.map(({ command_id, command, agent_id, status, created_at }) =>
            html`
              <li key=${command_id}>
                <a href=${addressOf(`/commands/${command_id}`)}><code>${onOneLine(
                  command,
                )}</code></a>
                <span class="soft"><${Badge} state=${status} /> <${Name} id=${agent_id} />,${" "}
                  <${Time} at=${created_at} /></span>
              </li>
            `
          )}
        </ul>
      `}<//>
  `;
}

/** The newest alerts that are active. */
export function AlertsCard() {
  const active = useData(
    (signal) => call("alerts.list", { query: { state: "active", limit: SHOWN }, signal }),
    [],
    { types: ["alert", "alert_source"] },
  );
  return html`
    <${Card} title="Open alerts" to="/alerts" data=${active}>${(
      { alerts, pagination }: {
        readonly alerts: readonly Alert[];
        readonly pagination: { readonly total: number };
      },
    ) =>
      alerts.length === 0 ? html`<p class="soft">No alert is open.</p>` : html`
        <ul class="lines">
          ${alerts.map(({ alert_id, name, severity, source, last_seen_at }) =>
            html`
              <li key=${alert_id}>
                <a href=${addressOf(`/alerts/${alert_id}`)}>${onOneLine(name)}</a>
                <span class="soft"><${Badge} state=${severity} /> ${onOneLine(source)},${" "}
                  <${Time} at=${last_seen_at} /></span>
              </li>
            `
          )}
        </ul>
        ${pagination.total > SHOWN && html`
          <p><a href=${addressOf("/alerts")}>${pagination.total - SHOWN} more</a></p>
        `}
      `}<//>
  `;
}
