import { useState } from "preact/hooks";
import { type ApiKey, call, type Scope } from "../../../api.ts";
import { type Space, space } from "../../../space.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { SelectField, TextField } from "../../../components/inputs.ts";
import { RightsChoice } from "../../../components/rights_choice.ts";
import { ShownOnce } from "../../../components/shown_once.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { go, setQuery } from "../../../router.ts";

/** Creates an API key, and shows it. */
export function KeyCreate() {
  const change = useChange();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [scopes, setScopes] = useState<readonly string[]>([]);
  const [days, setDays] = useState("90");
  const [type, setType] = useState<Space>(space.value);
  const [created, setCreated] = useState<ApiKey | null>(null);
  if (created !== null) {
    return html`
      <${ShownOnce} title=${`The key “${onOneLine(created.name)}”`}
        about="Store it now. Relay does not show it again." text=${created.key}
        done="I have stored it" onDone=${() => go(`/keys/${created.id}`)} />
    `;
  }
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const body = {
        name,
        description,
        scopes: scopes as readonly Scope[],
        expires_days: Number(days),
        type,
      };
      setCreated(await call("api_keys.create", { body }));
    });
  };
  return html`
    <form class="card" onSubmit=${submit} aria-label="New API key">
      <h2>New API key</h2>
      <div class="pair">
        <${TextField} label="Name" value=${name} onInput=${setName} required maxlength=${100}
          placeholder="deploy-bot" />
        <${TextField} label="Description" value=${description} onInput=${setDescription}
          maxlength=${1000} />
        <${TextField} label="Expires after days" type="number" min=${1} max=${3650} required
          value=${days} onInput=${setDays} />
        <${SelectField} label="Data" value=${type} onChange=${setType}
          options=${space.value === "test" ? [["test", "test data only"]] : [
            ["live", "live data"],
            ["test", "test data only"],
          ]} />
      </div>
      <${RightsChoice} chosen=${scopes} onChange=${setScopes} />
      <p
        class="soft">You can give only rights that you hold. When you lose one, the key loses it too.</p>
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy || scopes.length === 0}>
          Create the key
        </button>
        <button type="button" disabled=${change.isBusy}
          onClick=${() => setQuery({ create: "" })}>Cancel</button>
        ${scopes.length === 0 && html`<span class="soft">Choose at least one right.</span>`}
      </div>
    </form>
  `;
}
