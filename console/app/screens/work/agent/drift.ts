import { useState } from "preact/hooks";
import { call, type Drift } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { Name } from "../../../components/names.ts";
import { Time } from "../../../components/time.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";

/** Whether the agent's policies and files are as they were applied; asked for by a button, because the agent is asked. */
export function DriftCard({ agentId }: { readonly agentId: string }) {
  const change = useChange();
  const [drift, setDrift] = useState<Drift | null>(null);
  const check = () =>
    change.run(async () => setDrift(await call("gitops.drift", { params: { agent_id: agentId } })));
  return html`
    <section class="card">
      <h2>Drift</h2>
      ${drift === null
        ? html`<p class="soft">Has somebody changed the policies or the backed-up files on the machine?</p>`
        : html`<${Found} drift=${drift} />`}
      <${ChangeError} change=${change} />
      <button type="button" disabled=${change.isBusy} onClick=${check}>
        ${change.isBusy ? "Asking the agent…" : drift === null ? "Ask the agent" : "Ask again"}
      </button>
    </section>
  `;
}

function Found({ drift: { drifted, items, problem, reached, reported_at } }: {
  readonly drift: Drift;
}) {
  return html`
    <p>
      <${Badge} state=${drifted ? "drifted" : "as applied"} tone=${drifted
        ? "bad"
        : "good"} />${" "}
      ${reached ? "The agent has just answered." : html`
        It did not answer; it last reported <${Time} at=${reported_at} />.
      `}
    </p>
    ${problem !== null && html`<p class="bad">${onOneLine(problem)}</p>`}
    ${items.length === 0
      ? html`<p class="soft">Nothing is applied to it, and no file is backed up.</p>`
      : html`
        <ul class="lines">
          ${items.map(({ item, status, since, by }) =>
            html`
              <li>
                <code>${onOneLine(item)}</code>
                <span class="soft">
                  <${Badge} state=${status} tone=${TONES[status]} />
                  ${since !== null && html`
                    since <${Time} at=${since} />
                  `}
                  ${by !== null && html`
                    by <${Name} id=${by.actor} />
                  `}
                </span>
              </li>
            `
          )}
        </ul>
      `}
  `;
}

const TONES: Readonly<Record<Drift["items"][number]["status"], "good" | "bad" | "warn" | "quiet">> =
  {
    in_sync: "good",
    changed: "bad",
    missing: "bad",
    unexpected: "bad",
    pending: "warn",
    unknown: "quiet",
  };
