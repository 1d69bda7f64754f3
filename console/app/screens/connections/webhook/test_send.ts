import { useState } from "preact/hooks";
import { call, type Delivery, type DeliveryEventType, type Webhook } from "../../../api.ts";
import { Badge } from "../../../components/badge.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { SelectField } from "../../../components/inputs.ts";
import { useData } from "../../../data.ts";
import { html } from "htm/preact";
import { useRepeat } from "../../../repeat.ts";
import { addressOf } from "../../../router.ts";
import { answerWords, isDue, MISSED_MS } from "./delivery_words.ts";

/** Sends a test event and shows what became of it. */
export function WebhookTest({ webhook: { id, active, events }, onSent }: {
  readonly webhook: Webhook;
  readonly onSent: () => void;
}) {
  const change = useChange();
  const [chosen, setType] = useState("ping");
  const types = ["ping", ...events];
  // The webhook may no longer subscribe to what was chosen.
  const type = types.includes(chosen) ? chosen : "ping";
  const [sent, setSent] = useState<Delivery | null>(null);
  const send = () =>
    change.run(async () => {
      const body = { event_type: type as DeliveryEventType };
      setSent(await call("webhooks.test", { params: { id }, body }));
      onSent();
    });
  return html`
    <section class="card" aria-label="Test">
      <h2>Test</h2>
      <${SelectField} label="Event" value=${type} options=${types}
        onChange=${setType} hint="The example of the type is sent, marked as a test." />
      <${ChangeError} change=${change} />
      <p><button type="button" disabled=${change.isBusy || !active} onClick=${send}>
        Send a test event
      </button></p>
      ${!active && html`<p class="soft">Enable the webhook first.</p>`}
      <div role="status">${sent !== null && html`<${Outcome} key=${sent.id} sent=${sent} />`}</div>
    </section>
  `;
}

function Outcome({ sent }: { readonly sent: Delivery }) {
  const params = { id: sent.webhook_id, del_id: sent.id };
  const { data, again } = useData((signal) => call("webhooks.delivery", { params, signal }), [], {
    types: ["webhook"],
    id: sent.webhook_id,
  });
  const delivery = data ?? sent;
  const isUnderWay = isDue(delivery, 0);
  useRepeat(isUnderWay, MISSED_MS, again);
  return html`
    <p>
      <${Badge} state=${delivery.status} />${" "}
      ${isUnderWay ? "The test is on its way…" : html`
        ${answerWords(delivery)}, in ${delivery.response_time_ms ?? 0} ms.
      `}
      ${" "}<a href=${addressOf(`/webhooks/${sent.webhook_id}/deliveries/${sent.id}`)}>
        Request and response
      </a>
    </p>
  `;
}
