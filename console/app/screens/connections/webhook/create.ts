import { useState } from "preact/hooks";
import { call, type NewWebhook, type WebhookEventType } from "../../../api.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { TextField } from "../../../components/inputs.ts";
import { ShownOnce } from "../../../components/shown_once.ts";
import { html } from "htm/preact";
import { go, setQuery } from "../../../router.ts";
import { EventChoice } from "./event_choice.ts";
import { SignatureHelp } from "./signature_help.ts";

/** Creates a webhook, and shows the secret that Relay made for it. */
export function WebhookCreate() {
  const change = useChange();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState("");
  const [events, setEvents] = useState<readonly string[]>([]);
  const [created, setCreated] = useState<NewWebhook | null>(null);
  if (created !== null) {
    return html`
      <${ShownOnce} title="The webhook's signing secret"
        about="Store it where your receiver finds it. Relay does not show it again."
        text=${created.secret!} done="I have stored it"
        onDone=${() => go(`/webhooks/${created.id}`)} />
      <${SignatureHelp} />
    `;
  }
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const made = await call("webhooks.create", {
        body: {
          name,
          url,
          events: events as WebhookEventType[],
          ...secret !== "" && { secret },
        },
      });
      if (made.secret === undefined) go(`/webhooks/${made.id}`);
      else setCreated(made);
    });
  };
  return html`
    <form class="card" onSubmit=${submit} aria-label="New webhook">
      <h2>New webhook</h2>
      <div class="pair">
        <${TextField} label="Name" value=${name} onInput=${setName} required maxlength=${100}
          placeholder="chat-ops" />
        <${TextField} label="URL" type="url" value=${url} onInput=${setUrl} required
          placeholder="https://hooks.example.com/relay"
          hint="Relay sends each event there as one signed POST." />
      </div>
      <${EventChoice} chosen=${events} onChange=${setEvents} />
      <${TextField} label="Signing secret" value=${secret} onInput=${setSecret} minlength=${8}
        maxlength=${256} hint="Leave it empty, and Relay makes one and shows it once." />
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy || events.length === 0}>
          Create the webhook
        </button>
        <button type="button" disabled=${change.isBusy}
          onClick=${() => setQuery({ create: "" })}>Cancel</button>
        ${events.length === 0 && html`<span class="soft">Choose at least one event.</span>`}
      </div>
    </form>
  `;
}
