import { type ApiKey, type ApiKeyExplanation, call, type LimitLeft } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { SelectField } from "../../../components/inputs.ts";
import { limitWords, UNLIMITED } from "../../../components/limit_words.ts";
import { useScopes } from "../../../components/scopes.ts";
import { Failure, Loading } from "../../../components/states.ts";
import { Time } from "../../../components/time.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { query, setQuery } from "../../../router.ts";

/** Says whether a key may use a right now, and why. */
export function KeyExplanation({ apiKey: { id, scopes } }: { readonly apiKey: ApiKey }) {
  const known = useScopes();
  const all = known.data?.map(({ name }) => name) ?? [];
  const scope = all.find((one) => one === query.value.right) ?? scopes[0]!;
  const { data, error, again } = useData(
    (signal) => call("api_keys.explain", { params: { id }, query: { scope }, signal }),
    [id, scope],
    { types: ["api_key", "user", "role", "limits"] },
  );
  return html`
    <section class="card" aria-label="What it may do">
      <h2>What it may do</h2>
      ${known.error !== null && html`<${Failure} error=${known.error} again=${known.again} />`}
      ${known.data !== null && html`
        <${SelectField} label="Right" value=${scope}
          onChange=${(right: string) => setQuery({ right })}
          options=${known.data.map((
            { name, description },
          ) => [name, `${name} – ${description}`])} />
      `}
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data !== null && html`<${Reasons} explanation=${data} />`}
    </section>
  `;
}

function Reasons({ explanation: { allowed, reasons, scope, limits } }: {
  readonly explanation: ApiKeyExplanation;
}) {
  return html`
    <p role="status">
      <${Badge} state=${allowed ? "allow" : "deny"} />${" "}
      The key ${allowed ? "may" : "may not"} use <code>${scope}</code> now.
    </p>
    <ul class="rows">
      ${reasons.map(({ check, ok, message }) =>
        html`
          <li key=${check}>
            <p>${message}</p>
            <${Badge} state=${ok ? "yes" : "no"} tone=${ok ? "good" : "bad"} />
          </li>
        `
      )}
    </ul>
    <h3>Limits now</h3>
    <dl class="facts counts">
      <${Left} name="Requests in 10 seconds" limit=${limits.key.burst_per_10_seconds} />
      <${Left} name="Requests a minute" limit=${limits.key.requests_per_minute} />
      <${Left} name="MCP calls a minute" limit=${limits.key.mcp_calls_per_minute} />
      <${Left} name="Requests at a time" limit=${limits.key.max_concurrent} />
      <${Left} name="Webhook deliveries a minute" limit=${limits.key
        .webhook_deliveries_per_minute} />
      <${Left} name="Requests a minute, whole organization"
        limit=${limits.organization.requests_per_minute} />
    </dl>
  `;
}

function Left({ name, limit: { limit, remaining, reset_at } }: {
  readonly name: string;
  readonly limit: LimitLeft;
}) {
  return html`
    <dt>${name}</dt>
    <dd>${limit >= UNLIMITED
      ? limitWords(limit)
      : html`${remaining} of ${limit} left${
        remaining < limit && reset_at !== null && html`, all again <${Time} at=${reset_at} />`
      }`}</dd>
  `;
}
