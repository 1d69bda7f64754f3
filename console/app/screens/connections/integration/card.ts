import { useState } from "preact/hooks";
import { call, type Integration as IntegrationRow } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { ExactTime, now, Time, TimeLeft } from "../../../components/time.ts";
import { onOneLine, VisibleText } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";
import { Suspended } from "../suspended.ts";

/** An installed integration: its state, its last error, and what can be done with it. */
export function Integration({ integration, again }: {
  readonly integration: IntegrationRow;
  readonly again: () => void;
}) {
  const { id, name, type, status, oauth, suspended, last_error } = integration;
  const change = useChange();
  const remove = async () => {
    await call("integrations.delete", { params: { id } });
    again();
  };
  return html`
    <section class="card" aria-label=${onOneLine(name)}>
      <div class="title">
        <h3><${VisibleText} text=${name} /></h3>
        <${Badge} state=${suspended === null ? status : "suspended"} />
      </div>
      ${last_error !== null &&
        html`<p class="bad">Last error: <${VisibleText} text=${last_error} /></p>`}
      <dl class="facts">
        <dt>Service</dt><dd>${type}</dd>
        ${Object.entries(integration.config).map(([key, value]) =>
          html`
            <dt>${key.replaceAll("_", " ")}</dt>
            <dd>
              <${VisibleText} text=${typeof value === "string"
                ? value
                : Array.isArray(value)
                ? value.join(", ")
                : String(value)} />
            </dd>
          `
        )}
        <dt>Last used</dt><dd><${Time} at=${integration.last_used_at} /></dd>
        <dt>Installed</dt><dd><${ExactTime} at=${integration.created_at} /></dd>
        ${integration.token_expires_at !== null &&
          html`
            <dt>Token expires</dt>
            <dd>
              <${Time} at=${integration.token_expires_at} />
            </dd>
          `}
      </dl>
      ${suspended !== null && html`
        <${Suspended} suspended=${suspended} onAdopted=${again}
          adopt=${() => call("integrations.adopt", { params: { id } })} />
      `}
      ${may("system:write") && html`
        ${oauth && html`<${Connect} integration=${integration} />`}
        <${ConfirmButton} label="Delete the integration" change=${change} action=${remove}
          question=${`“${
            onOneLine(name)
          }” gets no more messages and lends no more credentials. Tokens that Relay got by OAuth are revoked at the provider.`} />
      `}
    </section>
  `;
}

/** Begins the OAuth flow. The provider sends the browser back to this screen, with the outcome. */
function Connect({ integration: { id, status } }: { readonly integration: IntegrationRow }) {
  const change = useChange();
  const [flow, setFlow] = useState<{ authorize_url: string; expires_at: string } | null>(null);
  const begin = () =>
    change.run(async () => {
      setFlow(
        await call("integrations.oauth_begin", {
          body: { integration_id: id, to_console: true },
        }),
      );
    });
  const url = flow === null ? null : new URL(flow.authorize_url);
  const isOpen = flow !== null && Date.parse(flow.expires_at) > now.value;
  const isWeb = isOpen && url !== null && (url.protocol === "https:" || url.protocol === "http:");
  return html`
    <${ChangeError} change=${change} />
    ${isWeb
      ? html`
        <p>
          <a class="button primary" href=${url.href} rel="noreferrer">
            Continue at ${url.host}
          </a>
          <span class="soft"> within <${TimeLeft} until=${flow!.expires_at} /></span>
        </p>
      `
      : html`
        <p><button type="button" class=${status === "active" ? "" : "primary"}
          disabled=${change.isBusy} onClick=${begin}>
          ${status === "active" ? "Connect it again" : "Connect"}
        </button></p>
      `}
  `;
}
