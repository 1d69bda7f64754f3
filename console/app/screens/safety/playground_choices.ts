import { call } from "../../api.ts";
import { WholeTextFilter } from "../../components/filters.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../router.ts";
import { may } from "../../session.ts";
import { textOfLabels } from "./playground_address.ts";

const LIMIT = 200;

const valueOf = (event: Event): string => (event.target as HTMLInputElement).value.trim();

/** Whose labels a command is judged with, and by which policy. */
export function PlaygroundChoices() {
  const { labels = "", policy = "", version = "" } = query.value;
  const { data } = useData(async (signal) => {
    const options = { query: { limit: LIMIT }, signal };
    const [agents, policies] = await Promise.all([
      may("agents:read") ? call("agents.list", options).then(({ agents }) => agents) : [],
      may("policy:read")
        ? call("gitops.list_policies", options).then(({ policies }) => policies)
        : [],
    ]);
    return { agents, policies };
  }, []);
  const { data: versions } = useData(async (signal) => {
    if (policy === "" || policy === "none") return [];
    return (await call("gitops.list_versions", {
      query: { policy_id: policy, limit: LIMIT },
      signal,
    }))
      .versions;
  }, [policy]);
  const agent = labels === ""
    ? undefined
    : data?.agents.find((one) => textOfLabels(one.labels) === labels);
  return html`
    <div class="filters">
      ${data !== null && data.agents.length > 0 && html`
        <label>Agent
          <select value=${agent?.id ?? ""} onChange=${(event: Event) => {
            const chosen = data.agents.find(({ id }) => id === valueOf(event));
            setQuery({ labels: chosen === undefined ? "" : textOfLabels(chosen.labels) });
          }}>
            <option value="">none</option>
            ${data.agents.map(({ id, name }) =>
              html`<option value=${id}>${onOneLine(name)}</option>`
            )}
          </select>
        </label>
      `}
      <${WholeTextFilter} name="labels" label="Labels" placeholder="env=prod, tier=web" />
      <label>Policy
        <select value=${policy}
          onChange=${(event: Event) => setQuery({ policy: valueOf(event), version: "" })}>
          <option value="">those in force</option>
          <option value="none">no policy</option>
          ${data?.policies.map(({ id, name }) =>
            html`<option value=${id}>${onOneLine(name)} alone</option>`
          )}
        </select>
      </label>
      ${(versions?.length ?? 0) > 0 && html`
        <label>Version
          <select value=${version}
            onChange=${(event: Event) => setQuery({ version: valueOf(event) })}>
            <option value="">in force</option>
            ${versions!.map(({ version }) => html`<option value=${version}>${version}</option>`)}
          </select>
        </label>
      `}
    </div>
  `;
}
