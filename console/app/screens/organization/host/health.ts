import { call } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { Copy } from "../../../components/copy.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { durationOf } from "../../../components/duration.ts";
import { Time } from "../../../components/time.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { useRepeat } from "../../../repeat.ts";

/** How this instance is. */
export function HealthCard() {
  const { data, error, again } = useData((signal) => call("health.detail", { signal }), []);
  useRepeat(true, 10_000, again);
  if (data === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  const facts: readonly (readonly [string, unknown])[] = [
    ["Version", data.version],
    [
      "Up for",
      data.uptime_seconds === undefined ? undefined : durationOf(data.uptime_seconds * 1_000),
    ],
    [
      "Store's round trip",
      data.store_round_trip_ms === undefined ? undefined : `${data.store_round_trip_ms} ms`,
    ],
    ["Jobs due", data.jobs_due],
    ["Agents connected", data.agents_linked],
    ["Commands under way", data.commands_under_way],
  ];
  return html`
    <section class="card" aria-label="Health">
      <div class="title">
        <h2>Health of this instance</h2>
        <${Badge} state=${data.status} />
      </div>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      <dl class="facts">
        ${Object.entries(data.components).map(([name, state]) =>
          html`
            <dt>${name}</dt>
            <dd>
              <${Badge} state=${state} tone=${state === "ok" ? "good" : "bad"} />
            </dd>
          `
        )}
        ${facts.map(([name, value]) =>
          value !== undefined && html`
            <dt>${name}</dt>
            <dd>${value}</dd>
          `
        )}
      </dl>
      <${LastBackup} at=${data.last_backup_at} />
      ${data.last_backup_error && html`
        <p class="warn">The last scheduled backup failed: ${data.last_backup_error}</p>
      `}
    </section>
  `;
}

/** When the store was last backed up. Nothing is known of a database server's own backups. */
function LastBackup({ at }: { readonly at: string | null | undefined }) {
  if (at === undefined) return null;
  if (at !== null) return html`<p>Last backup: <${Time} at=${at} /></p>`;
  return html`
    <p class="warn">Never backed up. On the relay's machine, as its user:</p>
    <${Copy} text="relay backup /backup/$(date +%F)" />
  `;
}
