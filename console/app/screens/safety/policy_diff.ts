import { call } from "../../api.ts";
import { Diff } from "./diff.ts";
import { Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";

/** What differs between two versions of a policy. The address names both. */
export function PolicyDiff({ id, versions }: {
  readonly id: string;
  readonly versions: readonly string[];
}) {
  const { from = versions[1] ?? "", to = versions[0] ?? "" } = query.value;
  const isAsked = from !== "" && to !== "" && from !== to;
  const { data, error, again } = useData(async (signal) => {
    const read = async (version: string) => {
      const { document } = await call("gitops.get_version", { params: { id, version }, signal });
      return JSON.stringify(document, null, 2);
    };
    return isAsked ? await Promise.all([read(from), read(to)]) : null;
  }, [id, from, to]);
  if (versions.length < 2) return null;
  const select = (name: string, label: string, value: string) =>
    html`
      <label>${label}
        <select value=${value} onChange=${(event: Event) =>
          setQuery({ [name]: (event.target as HTMLSelectElement).value })}>
          ${versions.map((one) => html`<option value=${one}>version ${one}</option>`)}
        </select>
      </label>
    `;
  return html`
    <section class="card">
      <h2>What differs</h2>
      <div class="filters">
        ${select("from", "From", from)}
        ${select("to", "To", to)}
      </div>
      ${!isAsked && html`<p>Choose two versions.</p>`}
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${isAsked && data === null && error === null && html`<${Loading} />`}
      ${isAsked && data !== null && html`
        <${Diff} before=${data[0]} after=${data[1]} label=${`Version ${from} and version ${to}`} />
      `}
    </section>
  `;
}
