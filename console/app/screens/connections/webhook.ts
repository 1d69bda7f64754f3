import { call, type Webhook as WebhookRow } from "../../api.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime, Time } from "../../components/time.ts";
import { VisibleText } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import type { ScreenProps } from "../../screen.ts";
import { may } from "../../session.ts";
import { SignatureHelp } from "./webhook/signature_help.ts";
import { Suspended } from "./suspended.ts";
import { Deliveries, useDeliveries } from "./webhook/deliveries.ts";
import { Progress, WebhookRecover } from "./webhook/recover.ts";
import { WebhookSettings, WebhookSwitch } from "./webhook/settings.ts";
import { WebhookTest } from "./webhook/test_send.ts";
import { State } from "./webhooks.ts";

/** One webhook with its deliveries. */
export default function Webhook({ id }: ScreenProps) {
  const { data: webhook, error, again } = useData(
    (signal) => call("webhooks.get", { params: { id: id! }, signal }),
    [id],
    { types: ["webhook"], id: id! },
  );
  if (webhook === null) {
    return error === null
      ? html`<${Loading} />`
      : html`<${Failure} error=${error} again=${again} />`;
  }
  return html`
    ${error !== null && html`<${Failure} error=${error} again=${again} />`}
    <${Shown} webhook=${webhook} again=${again} />
  `;
}

function Shown({ webhook, again }: { readonly webhook: WebhookRow; readonly again: () => void }) {
  const { id } = webhook;
  const list = useDeliveries(id);
  const changes = may("system:write");
  const changed = () => {
    again();
    list.again();
  };
  return html`
    <p><a href=${addressOf("/webhooks")}>Webhooks</a></p>
    <div class="title">
      <h1>
        <${VisibleText} text=${webhook.name} />
      </h1>
      <${State} webhook=${webhook} />
    </div>
    <div class="cards">
      <${Facts} webhook=${webhook} changed=${changed} />
      ${changes && html`<${WebhookTest} webhook=${webhook} onSent=${list.again} />`}
    </div>
    ${changes && html`<${WebhookRecover} id=${id} onChanged=${list.again} />`}
    ${changes && html`<${WebhookSettings} webhook=${webhook} onChanged=${changed} />`}
    <${SignatureHelp} />
    <${Deliveries} list=${list} events=${webhook.events} />
  `;
}

function Facts({ webhook, changed }: {
  readonly webhook: WebhookRow;
  readonly changed: () => void;
}) {
  const { id, suspended, previous_secret_ends_at: ends, release_id, custom_headers } = webhook;
  return html`
    <section class="card" aria-label="Settings">
      <h2>Settings</h2>
      <dl class="facts">
        <dt>URL</dt><dd class="mono"><${VisibleText} text=${webhook.url} /></dd>
        <dt>Events</dt>
        <dd>${webhook.events.map((type) => html`<span class="label">${type}</span>${" "}`)}</dd>
        <dt>Attempts</dt>
        <dd>${webhook.delivery_count} so far, the last <${Time} at=${webhook
          .last_delivery_at} /></dd>
        <dt>Retries</dt>
        <dd>up to ${webhook.retry_policy.max_retries} attempts of ${webhook.retry_policy
          .timeout_seconds} s</dd>
        <dt>Own headers</dt>
        <dd>${Object.keys(custom_headers).length === 0
          ? "none"
          : Object.keys(custom_headers).map((name) =>
            html`<span class="label"><${VisibleText} text=${name} /></span>${" "}`
          )}</dd>
        <dt>Created</dt><dd><${ExactTime} at=${webhook.created_at} /></dd>
        ${ends !== null && html`
          <dt>Old secret</dt>
          <dd>signs too until <${ExactTime} at=${ends} /></dd>
        `}
      </dl>
      ${suspended !== null && html`
        <${Suspended} suspended=${suspended} onAdopted=${changed}
          adopt=${() => call("webhooks.adopt", { params: { id } })} />
      `}
      ${release_id !== null &&
        html`<${Progress} key=${release_id} id=${id} recovery=${release_id} />`}
      ${may("system:write") && html`<${WebhookSwitch} webhook=${webhook} onChanged=${changed} />`}
    </section>
  `;
}
