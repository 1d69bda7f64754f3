import { type ApiKey, call, type Scope } from "../../../api.ts";
import { Overtaken, useDraft } from "../../../components/draft.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { TextField } from "../../../components/inputs.ts";
import { instantOf, localOf } from "../../../components/instants.ts";
import { RightsChoice } from "../../../components/rights_choice.ts";
import { html } from "htm/preact";
import { may, me } from "../../../session.ts";

/** Changes the name, the rights and the expiry of a key; what was not changed is not sent. */
export function KeyChange({ apiKey: key, onChanged }: {
  readonly apiKey: ApiKey;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const name = useDraft(key.name);
  const scopes = useDraft<readonly string[]>([...key.scopes].sort());
  const end = useDraft(localOf(key.expires_at));
  const isMine = key.created_by === me.value!.user.id;
  const drafts = [name, scopes, end];
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("api_keys.update", {
        params: { id: key.id },
        body: {
          ...name.isChanged && { name: name.value },
          ...scopes.isChanged && { scopes: scopes.value as readonly Scope[] },
          ...end.isChanged && { expires_at: instantOf(end.value) },
        },
      });
      for (const draft of drafts) draft.saved();
      onChanged();
    });
  };
  return html`
    <details class="card">
      <summary>Change the key</summary>
      <form onSubmit=${submit}>
        <div class="pair">
          <${TextField} label="Name" value=${name.value} onInput=${name.set} required
            maxlength=${100} />
          ${key.scopes.every(may) && html`
            <${TextField} label="Expires" type="datetime-local" value=${end.value} required
              onInput=${end.set} hint=${isMine
                ? undefined
                : "After a later expiry, votes with this key count as yours too."} />
          `}
        </div>
        <${RightsChoice} chosen=${scopes.value} present=${key.scopes}
          onChange=${(chosen: readonly string[]) => scopes.set([...chosen].sort())} />
        <p class="soft">The next request of the key has what you save.</p>
        <${Overtaken} drafts=${drafts} />
        <${ChangeError} change=${change} />
        <p><button type="submit" class="primary"
          disabled=${change.isBusy || scopes.value.length === 0 ||
            !drafts.some(({ isChanged }) => isChanged)}>Save the key</button></p>
      </form>
    </details>
  `;
}
