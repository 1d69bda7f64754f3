import { useState } from "preact/hooks";
import { call } from "../../../api.ts";
import { ConfirmButton, useChange } from "../../../components/form.ts";
import { TextFilter } from "../../../components/filters.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { ExactTime } from "../../../components/time.ts";
import { VisibleText } from "../../../components/visible_text.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { query } from "../../../router.ts";
import { may } from "../../../session.ts";

type Changes = Awaited<ReturnType<typeof reload>>["changes"];
const reload = () => call("config.reload", { body: {} });

/** A value as the configuration has it. */
const wordsOf = (value: unknown): string =>
  value === null || value === undefined
    ? "not set"
    : typeof value === "string"
    ? value
    : JSON.stringify(value);

/** The configuration in force, and its reload. */
export function Configuration() {
  const { data, error, again } = useData(
    (signal) => call("config.get", { signal }),
    [],
    { types: ["configuration"] },
  );
  const change = useChange();
  const [changes, setChanges] = useState<Changes | null>(null);
  const run = async () => {
    setChanges((await reload()).changes);
    again();
  };
  const text = (query.value.setting ?? "").toLowerCase();
  return html`
    <div class="title">
      <h2>Configuration of this instance</h2>
      ${may("system:write") && html`
        <${ConfirmButton} label="Reload the configuration" change=${change} action=${run}
          question="This instance reads its file again; the next request follows it. Do this at each instance." />
      `}
    </div>
    <div role="status">${changes !== null && html`<${Reloaded} changes=${changes} />`}</div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    ${data === null && error === null && html`<${Loading} />`}
    ${data !== null && html`
      <div class="filters">
        <${TextFilter} name="setting" label="Setting" placeholder="limits.live" />
      </div>
      <p class="soft">Loaded <${ExactTime} at=${data.loaded_at} /></p>
      <table>
        <caption class="unseen">Settings in force</caption>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Value</th>
            <th scope="col">From</th>
            <th scope="col">Changes by</th>
          </tr>
        </thead>
        <tbody>
          ${data.values.filter(({ path }) => path.toLowerCase().includes(text)).map((one) =>
            html`
              <tr key=${one.path}>
                <th scope="row" class="mono">${one.path}</th>
                <td>
                  <${VisibleText} text=${wordsOf(one.value)} />
                </td>
                <td class=${one.source === "default" ? "soft" : ""}>${one.source}</td>
                <td class="soft">${one.changes_by}</td>
              </tr>
            `
          )}
        </tbody>
      </table>
    `}
  `;
}

function Reloaded({ changes }: { readonly changes: Changes }) {
  if (changes.length === 0) return html`<p class="good">Reloaded. Nothing changed.</p>`;
  return html`
    <p class="good">Reloaded. In force now:</p>
    <ul>
      ${changes.map(({ path, before, after }) =>
        html`
          <li><code>${path}</code>: <${VisibleText} text=${wordsOf(before)} /> →${" "}
            <${VisibleText} text=${wordsOf(after)} /></li>
        `
      )}
    </ul>
  `;
}
