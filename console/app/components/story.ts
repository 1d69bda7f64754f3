import { useState } from "preact/hooks";
import { type AuditEvent, call } from "../api.ts";
import { html } from "htm/preact";
import { addressOf } from "../router.ts";
import { may } from "../session.ts";
import { Name } from "./names.ts";
import { messageOf } from "./states.ts";
import { Time } from "./time.ts";

const SHOWN = 50;

/** The story of an alert: what happened because of it, fetched when it is opened, since reading the log is logged. */
export function Story({ thread, isAnswer }: {
  readonly thread: string;
  /** True for a command that answers the alert, false for one whose denial raised it. */
  readonly isAnswer: boolean;
}) {
  const [events, setEvents] = useState<readonly AuditEvent[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = (event: Event) => {
    if (!(event.target as HTMLDetailsElement).open || events !== null) return;
    call("audit.query", { query: { thread, limit: SHOWN } })
      .then(({ events }) => {
        setEvents(events.toReversed());
        setError(null);
      }, setError);
  };
  const about = isAnswer ? "It answers an alert" : "It raised an alert";
  return html`
    <h3>${about}</h3>
    <p><a href=${addressOf(`/alerts/${thread}`)}>Open the alert</a></p>
    ${(may("audit:read") || may("system:read")) && html`
      <details onToggle=${load}>
        <summary>What happened so far</summary>
        ${error !== null && html`<p class="bad" role="alert">${messageOf(error)}</p>`}
        <ol>
          ${events?.map(({ event_id, event_type, timestamp, actor }) =>
            html`
              <li key=${event_id}>
                <a href=${addressOf(`/audit/${event_id}`)}>${event_type.replaceAll("_", " ")}</a>
                ${" "}<span class="soft"><${Name} id=${actor} />, <${Time} at=${timestamp} /></span>
              </li>
            `
          )}
        </ol>
      </details>
    `}
  `;
}
