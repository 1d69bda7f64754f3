import { type ApiKey, call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { limitWords } from "../../components/limit_words.ts";
import { Name, useNames } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime, Time } from "../../components/time.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import type { ScreenProps } from "../../screen.ts";
import { may, me } from "../../session.ts";
import { KeyChange } from "./key/change.ts";
import { KeyExplanation } from "./key/explanation.ts";
import { KeyDelete, KeyRevoke } from "./key/revoke.ts";
import { KeyRotate } from "./key/rotate.ts";
import { KeyUsage } from "./key/usage.ts";

/** One API key: what it may do and why, how it is used, and how it ends. */
export default function Key({ id }: ScreenProps) {
  useNames();
  const { data: key, error, again } = useData(
    (signal) => call("api_keys.get", { params: { id: id! }, signal }),
    [id],
    { types: ["api_key"], id: id! },
  );
  if (key === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  const works = key.status === "active" || key.status === "rotating";
  const isMine = key.created_by === me.value!.user.id;
  return html`
    <p><a href=${addressOf("/keys")}>API keys</a></p>
    <div class="title">
      <h1>
        <${VisibleText} text=${key.name} />
      </h1>
      <${Badge} state=${key.status} />
    </div>
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    <div class="cards two">
      <${Facts} apiKey=${key} />
      <${KeyUsage} id=${key.id} />
      <${KeyExplanation} apiKey=${key} />
      ${works && may("system:write") && html`<${KeyRotate} apiKey=${key} onRotated=${again} />`}
      ${(isMine || may("system:write")) && html`
        <section class="card" aria-label="End the key">
          <h2>End the key</h2>
          <${KeyRevoke} apiKey=${key} onRevoked=${again} />
          <${KeyDelete} apiKey=${key} />
        </section>
      `}
    </div>
    ${works && may("system:write") && html`<${KeyChange} apiKey=${key} onChanged=${again} />`}
  `;
}

function Facts({ apiKey: key }: { readonly apiKey: ApiKey }) {
  const { rate_limits: limits, metadata } = key;
  return html`
    <section class="card" aria-label="Key">
      <h2>Key</h2>
      ${key.notice !== null && html`<p class="warn">${key.notice}</p>`}
      ${key.description !== "" && html`
        <p>
          <${VisibleText} text=${key.description} />
        </p>
      `}
      <dl class="facts">
        <dt>Value</dt><dd class="mono">${key.key}</dd>
        <dt>Rights</dt>
        <dd>${key.scopes.map((scope) => html`<span class="label">${scope}</span>${" "}`)}</dd>
        <dt>Data</dt><dd>${key.type}</dd>
        <dt>Last use</dt><dd><${Time} at=${key.last_used} /></dd>
        <dt>Expires</dt><dd><${ExactTime} at=${key.expires_at} /></dd>
        <dt>Created</dt>
        <dd><${ExactTime} at=${key.created_at} /> by <${Name} id=${key.created_by} /></dd>
        ${key.rotated_at !== null &&
          html`
            <dt>Rotated</dt>
            <dd>
              <${ExactTime} at=${key.rotated_at} />
            </dd>
          `}
        ${key.grace_period_ends !== null &&
          html`
            <dt>Old value</dt>
            <dd>works until <${ExactTime} at=${key.grace_period_ends} /></dd>
          `}
        <dt>Limits</dt>
        <dd>
          requests a minute: ${limitWords(limits.requests_per_minute)}; MCP calls a minute:${" "}
          ${limitWords(limits.mcp_calls_per_minute)}; requests at a time:${" "}
          ${limitWords(limits.max_concurrent)}
        </dd>
        ${Object.entries(metadata).map(([name, value]) =>
          html`
            <dt>
              <${VisibleText} text=${name} />
            </dt>
            <dd>
              <${VisibleText} text=${typeof value === "string" ? value : JSON.stringify(value)} />
            </dd>
          `
        )}
      </dl>
    </section>
  `;
}
