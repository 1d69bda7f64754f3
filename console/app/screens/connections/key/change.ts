import { useState } from "preact/hooks";
import { type ApiKey, call, type Scope } from "../../../api.ts";
import { ChangeError, useChange } from "../../../components/form.ts";
import { CheckGroups } from "../../../components/inputs.ts";
import { scopeGroups } from "../../../components/scopes.ts";
import { html } from "htm/preact";
import { may } from "../../../session.ts";

/** Changes the rights of a key. */
export function KeyScopes({ apiKey: { id, scopes: present }, onChanged }: {
  readonly apiKey: ApiKey;
  readonly onChanged: () => void;
}) {
  const change = useChange();
  const [scopes, setScopes] = useState<readonly string[]>(present);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("api_keys.update", {
        params: { id },
        body: { scopes: scopes as readonly Scope[] },
      });
      onChanged();
    });
  };
  const isSame = [...scopes].sort().join() === [...present].sort().join();
  return html`
    <details class="card">
      <summary>Change its rights</summary>
      <form onSubmit=${submit}>
        <${CheckGroups} legend="Rights" chosen=${scopes} onChange=${setScopes}
          groups=${scopeGroups((scope) => may(scope) || present.includes(scope))} />
        <p class="soft">The next request of the key has the new rights.</p>
        <${ChangeError} change=${change} />
        <p><button type="submit" class="primary"
          disabled=${change.isBusy || isSame || scopes.length === 0}>Save the rights</button></p>
      </form>
    </details>
  `;
}
