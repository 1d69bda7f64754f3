import { useState } from "preact/hooks";
import { call, type CanaryReport } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { VisibleText } from "../../../components/visible_text.ts";
import { html } from "htm/preact";

/** Sends known commands through every layer, and with an agent also one over its link. */
export function Canary() {
  const change = useChange();
  const [agent, setAgent] = useState("");
  const [report, setReport] = useState<CanaryReport | null>(null);
  const run = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const agent_id = agent.trim();
      setReport(await call("shield.canary", { body: agent_id === "" ? {} : { agent_id } }));
    });
  };
  return html`
    <section class="card">
      <h2>Canary</h2>
      <p>
        It sends a fixed set of dangerous and harmless commands through every layer. None of them
        runs. With an agent, a harmless one runs there too.
      </p>
      <form class="filters" onSubmit=${run}>
        <label>Agent
          <input value=${agent} placeholder="none" autocomplete="off"
            onInput=${(event: Event) => setAgent((event.target as HTMLInputElement).value)} />
        </label>
        <button type="submit" disabled=${change.isBusy}>Test the shield</button>
      </form>
      <${ChangeError} change=${change} />
      ${report !== null && html`<${Result} report=${report} />`}
    </section>
  `;
}

function Result({ report }: { readonly report: CanaryReport }) {
  const { status, layers, agent } = report;
  return html`
    <div aria-live="polite">
      <p>
        <${Badge} state=${status} tone=${report.failed.length === 0 ? "good" : "bad"} />
      </p>
      <ul class="entries">
        ${layers.map(({ layer, checks, passed, failures, switched_off }) =>
          html`
            <li key=${layer}>
              <${Badge} state=${passed ? "passed" : "failed"} tone=${passed
                ? "good"
                : "bad"} />${" "}
              <strong>${layer}</strong> <span class="soft">${checks} checks</span>
              ${failures.map(({ command, expected, verdict }) =>
                html`
                  <p class="bad">
                    <code><${VisibleText} text=${command} /></code> should be ${expected}, and is
                    ${" "}${verdict}.
                  </p>
                `
              )}
              ${switched_off.length > 0 && html`
                <p class="warn">
                  These pass because rules are disabled or only watch:${" "}
                  ${switched_off.map((command) =>
                    html`
                      <code><${VisibleText} text=${command} /></code>
                    `
                  )}
                </p>
              `}
            </li>
          `
        )}
        ${agent !== null && html`
          <li>
            <${Badge} state=${agent.passed ? "passed" : "failed"}
              tone=${agent.passed ? "good" : "bad"} /> <strong>agent</strong>${" "}
            <span class="soft"><${VisibleText} text=${agent.reason ?? agent.status} /></span>
          </li>
        `}
      </ul>
    </div>
  `;
}
