import { useState } from "preact/hooks";
import { type Agent, call } from "../../../api.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { readLabels } from "../../../labels.ts";
import { may } from "../../../session.ts";
import { LabelsField } from "./labels_field.ts";

/** The labels in force, who gave them, and how to change those of the relay. */
export function LabelsCard({ agent }: { readonly agent: Agent }) {
  const { id, labels, relay_labels } = agent;
  const change = useChange();
  const [typed, setTyped] = useState("");
  const { labels: added, problem } = readLabels(typed);
  const put = (labels: Readonly<Record<string, string | null>>) =>
    change.run(() => call("agents.update", { params: { id }, body: { labels } }));
  const add = async (event: Event) => {
    event.preventDefault();
    if (problem === null && await put(added)) setTyped("");
  };
  const all = Object.entries(labels);
  return html`
    <section class="card">
      <h2>Labels</h2>
      ${all.length === 0 &&
        html`<p class="soft">It has no label. Policies select agents by labels.</p>`}
      <ul class="labels">
        ${all.map(([key, value]) => {
          const isOurs = Object.hasOwn(relay_labels, key);
          return html`
            <li key=${key}>
              <span class="label">${onOneLine(`${key}=${value}`)}</span>
              <span class="soft">${isOurs ? "set here" : "reported by the agent"}</span>
              ${isOurs && may("agents:admin") && html`
                <button type="button" class="plain" disabled=${change.isBusy}
                  aria-label=${`Remove the label ${onOneLine(key)}`}
                  onClick=${() => put({ [key]: null })}>Remove</button>
              `}
            </li>
          `;
        })}
      </ul>
      ${may("agents:admin") && html`
        <form onSubmit=${add}>
          <${LabelsField}
            label="Add or change labels" required value=${typed} onInput=${setTyped}
            hint="The agent cannot change these. Policies that select by them apply at once."
          />
          <button type="submit" disabled=${change.isBusy}>Set the labels</button>
        </form>
      `}
      <${ChangeError} change=${change} />
    </section>
  `;
}
