import { type AuditEvent, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Name } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";

const LIMIT = 200;
/** Reading the log is a row of it too. */
const LIVE_MS = 1_000;

/** What happened to an alert, in order: its reports, the commands that answer it, their approvals, its end. */
export function Story({ thread }: { readonly thread: string }) {
  const isReader = may("audit:read") || may("system:read");
  const { data, error, again } = useData(
    async (signal) =>
      isReader ? await call("audit.query", { query: { thread, limit: LIMIT }, signal }) : null,
    [thread],
    { types: ["alert", "alert_source", "command", "approval"], everyMs: LIVE_MS },
  );
  if (!isReader) return null;
  return html`
    <section class="card">
      <h2>Story</h2>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data !== null && data.events.length === 0 && html`
        <p class="soft">
          Nothing was recorded yet. Name this alert in a command that answers it, and its approvals
          and its end will be here.
        </p>
      `}
      ${data !== null && data.pagination.has_more && html`
        <p>
          The newest ${LIMIT} rows.${" "}
          <a href=${addressOf("/audit", { thread })}>All of them are in the audit log.</a>
        </p>
      `}
      <ol class="chapters">
        ${data?.events.toReversed().map((event) =>
          html`<${Chapter} key=${event.event_id} event=${event} />`
        )}
      </ol>
    </section>
  `;
}

const textIn = ({ details }: AuditEvent, name: string): string | null => {
  const value = details[name];
  return typeof value === "string" && value !== "" ? value : null;
};

function Chapter({ event }: { readonly event: AuditEvent }) {
  const command = textIn(event, "command"), reason = textIn(event, "reason");
  const status = textIn(event, "status");
  const commandId = textIn(event, "command_id");
  const approval = event.resource_type === "approval" ? event.resource_id : textIn(event, "pid");
  return html`
    <li>
      <p>
        <strong>${onOneLine(event.event_type.replaceAll("_", " "))}</strong>${" "}
        ${status !== null && html`<${Badge} state=${onOneLine(status)} />`}${" "}
        <span class="soft">by <${Name} id=${event.actor} />, <${Time} at=${event
          .timestamp} /></span>
      </p>
      ${command !== null &&
        html`<pre class="terminal" tabindex="0"><${VisibleText} text=${command} /></pre>`}
      ${reason !== null && html`<p>Reason: <${VisibleText} text=${reason} /></p>`}
      <p class="links">
        ${commandId !== null && html`
          <a href=${addressOf(`/commands/${commandId}`)}>Command</a>
        `}
        ${approval !== null && html`
          <a href=${addressOf(`/approvals/${approval}`)}>Approval</a>
        `}
        <a href=${addressOf(`/audit/${event.event_id}`)}>Row ${event.seq}</a>
      </p>
    </li>
  `;
}
