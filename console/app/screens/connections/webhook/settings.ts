import { useState } from "preact/hooks";
import { call, type Webhook, type WebhookEventType } from "../../../api.ts";
import { Overtaken, useDraft } from "../../../components/draft.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Check, SelectField, TextField } from "../../../components/inputs.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { go } from "../../../router.ts";
import { EventChoice } from "./event_choice.ts";
import { headersOf, linesOf } from "./header_lines.ts";
import { HeadersField } from "./headers_field.ts";

/** Changes a webhook; what was not changed is not sent. */
export function WebhookSettings({ webhook, onChanged }: {
  readonly webhook: Webhook;
  readonly onChanged: () => void;
}) {
  const { id, retry_policy: policy } = webhook;
  const change = useChange();
  const name = useDraft(webhook.name);
  const url = useDraft(webhook.url);
  const events = useDraft<readonly string[]>([...webhook.events].sort());
  const headers = useDraft(linesOf(webhook.custom_headers));
  const attempts = useDraft(`${policy.max_retries}`);
  const timeout = useDraft(`${policy.timeout_seconds}`);
  const autoDisable = useDraft(policy.auto_disable);
  const [secret, setSecret] = useState("");
  const drafts = [name, url, events, headers, attempts, timeout, autoDisable];
  const isChanged = secret !== "" || drafts.some(({ isChanged }) => isChanged);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const policy = {
        ...attempts.isChanged && { max_retries: Number(attempts.value) },
        ...timeout.isChanged && { timeout_seconds: Number(timeout.value) },
        ...autoDisable.isChanged && { auto_disable: autoDisable.value },
      };
      await call("webhooks.update", {
        params: { id },
        body: {
          ...name.isChanged && { name: name.value },
          ...url.isChanged && { url: url.value },
          ...events.isChanged && { events: events.value as WebhookEventType[] },
          ...secret !== "" && { secret },
          ...headers.isChanged && { headers: headersOf(headers.value) },
          ...Object.keys(policy).length > 0 && { retry_policy: policy },
        },
      });
      setSecret("");
      for (const draft of drafts) draft.saved();
      onChanged();
    });
  };
  return html`
    <details class="card">
      <summary>Change the webhook</summary>
      <form onSubmit=${submit}>
        <div class="pair">
          <${TextField} label="Name" value=${name.value} onInput=${name.set} required
            maxlength=${100} />
          <${TextField} label="URL" type="url" value=${url.value} onInput=${url.set} required />
        </div>
        <${EventChoice} chosen=${events.value}
          onChange=${(chosen: readonly string[]) => events.set([...chosen].sort())} />
        <div class="pair">
          <${TextField} label="Attempts at most" type="number" min=${1} max=${12}
            value=${attempts.value}
            onInput=${attempts.set} />
          <${TextField} label="Deadline of an attempt in seconds" type="number" min=${1}
            max=${10}
            value=${timeout.value} onInput=${timeout.set} />
          <${TextField} label="New signing secret" value=${secret} onInput=${setSecret}
            minlength=${8} maxlength=${256}
            hint="Empty keeps the present one. For 24 hours the old one signs too." />
        </div>
        <${HeadersField} value=${headers.value} onInput=${headers.set} />
        <${Check} checked=${autoDisable.value} onChange=${autoDisable.set}>
          Disable the webhook when the last attempt of a delivery fails
        <//>
        <${Overtaken} drafts=${drafts} />
        <${ChangeError} change=${change} />
        <p><button type="submit" class="primary"
          disabled=${change.isBusy || !isChanged || events.value.length === 0}>
          Save the changes
        </button></p>
      </form>
    </details>
  `;
}

/** Enables, disables and deletes a webhook. */
export function WebhookSwitch({ webhook: { id, name, active }, onChanged }: {
  readonly webhook: Webhook;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const [held, setHeld] = useState("deliver");
  const enable = async () => {
    await call("webhooks.enable", {
      params: { id },
      body: { held: held as "deliver" | "discard" },
    });
    onChanged();
  };
  const disable = async () => {
    await call("webhooks.disable", { params: { id }, body: {} });
    onChanged();
  };
  const remove = async () => {
    await call("webhooks.delete", { params: { id } });
    go("/webhooks");
  };
  return html`
    <div class="actions">
      ${active
        ? html`
          <${ConfirmButton} label="Disable the webhook" change=${change} action=${disable}
            question="Nothing is sent any more. New events are held for 30 days, and are sent when you enable it." />
        `
        : html`
          <${ConfirmButton} label="Enable the webhook" change=${change} action=${enable}
            question="New events are sent again from now on.">
            <${SelectField} label="Deliveries held meanwhile" value=${held} onChange=${setHeld}
              options=${[["deliver", "send them, oldest first"], ["discard", "discard them"]]} />
            <//>
        `}
      <${ConfirmButton} label="Delete the webhook" change=${change} action=${remove}
        question=${`“${
          onOneLine(name)
        }” receives nothing any more, and its delivery log is deleted.`} />
    </div>
  `;
}
