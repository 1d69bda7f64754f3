import { useState } from "preact/hooks";
import { type Alert, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import {
  ChangeError,
  ConfirmButton,
  type Control,
  Field,
  useChange,
} from "../../components/form.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime, Time } from "../../components/time.ts";
import { onOneLine, VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { may } from "../../session.ts";
import { stateOf, toneOf } from "./alerts.ts";
import { Story } from "./alert_story.ts";

/** One alert: what it says, who looks after it, and its story. */
export default function AlertScreen({ id = "" }: Readonly<Record<string, string>>) {
  useNames();
  const { data: alert, error, again } = useData(
    (signal) => call("alerts.get", { params: { id }, signal }),
    [id],
    { types: ["alert", "alert_source", "command"] },
  );
  const failure = error !== null && html`<${Failure} error=${error} again=${again} />`;
  if (alert === null) return failure || html`<${Loading} />`;
  return html`
    ${failure}
    <div class="title">
      <h1>${onOneLine(alert.name)}</h1>
      <${Badge} state=${alert.severity} />
      <${Badge} state=${stateOf(alert)} tone=${toneOf(alert)} />
    </div>
    ${alert.state === "active" && may("approvals:write") && html`
      <${Actions} alert=${alert} changed=${again} />
    `}
    <${Facts} alert=${alert} />
    <${Story} thread=${alert.thread} />
  `;
}

function Actions({ alert, changed }: { readonly alert: Alert; readonly changed: () => void }) {
  const change = useChange();
  const [reason, setReason] = useState("");
  const send = (id: "alerts.acknowledge" | "alerts.resolve") => async () => {
    const said = reason.trim();
    await call(id, { body: { alert_id: alert.alert_id, ...said !== "" && { reason: said } } });
    setReason("");
    changed();
  };
  return html`
    <section class="card" aria-label="What to do">
      <${Field} label="Reason" hint="For the record and for others. It may be empty.">${(
        control: Control,
      ) =>
        html`
          <input ...${control} value=${reason} maxlength="500" autocomplete="off"
            onInput=${(event: Event) => setReason((event.target as HTMLInputElement).value)} />
        `}<//>
      <div class="actions">
        ${alert.acknowledged_by === null && html`
          <button type="button" class="primary" disabled=${change.isBusy}
            onClick=${() => change.run(send("alerts.acknowledge"))}>Acknowledge</button>
        `}
        <${ConfirmButton} label="Resolve the alert" change=${change}
          question="It becomes active again if its source reports it again."
          action=${send("alerts.resolve")} />
      </div>
      <${ChangeError} change=${change} />
    </section>
  `;
}

function Facts({ alert }: { readonly alert: Alert }) {
  const { labels, annotations } = alert;
  const last = annotations.last_command_id;
  return html`
    <section class="card">
      <h2>Facts</h2>
      <dl class="facts">
        <dt>Source</dt><dd>${onOneLine(alert.source)}</dd>
        ${alert.agent_id !== null && html`
          <dt>Agent</dt>
          <dd>
            <${Name} id=${alert.agent_id} linked />
          </dd>
        `}
        <dt>Since</dt><dd><${ExactTime} at=${alert.starts_at} /></dd>
        <dt>Last seen</dt>
        <dd><${Time} at=${alert.last_seen_at} />, reported ${alert.count
          .toLocaleString()} times</dd>
        ${alert.acknowledged_by !== null && html`
          <dt>Looked after by</dt>
          <dd><${Name} id=${alert.acknowledged_by} />, <${Time} at=${alert.acknowledged_at} /></dd>
        `}
        ${alert.resolved_at !== null && html`
          <dt>Resolved</dt>
          <dd>
            <${Time} at=${alert.resolved_at} />
            ${alert.resolved_by !== null && html`
              by <${Name} id=${alert.resolved_by} />
            `}
          </dd>
        `}
        ${alert.reason !== null && html`
          <dt>Reason</dt>
          <dd>
            <${VisibleText} text=${alert.reason} />
          </dd>
        `}
        ${last !== undefined && alert.source === "shield" && html`
          <dt>Last denied</dt>
          <dd><a href=${addressOf(`/commands/${last}`)}>the command</a></dd>
        `}
        ${Object.entries(labels).map(([name, value]) =>
          html`
            <dt>${onOneLine(name)}</dt>
            <dd><span class="label">${onOneLine(value)}</span></dd>
          `
        )}
        ${Object.entries(annotations).filter(([name]) => !name.startsWith("last_")).map((
          [name, value],
        ) =>
          html`
            <dt>${onOneLine(name)}</dt>
            <dd class="kept-lines">
              <${VisibleText} text=${value} />
            </dd>
          `
        )}
      </dl>
    </section>
  `;
}
