import { useState } from "preact/hooks";
import { call, type GitProvider } from "../../api.ts";
import { Copy } from "../../components/copy.ts";
import { ChangeError, Field, useChange } from "../../components/form.ts";
import { html } from "../../html.ts";

const PROVIDERS: readonly GitProvider[] = ["github", "gitlab", "gitea", "generic"];
const BEGUN = {
  name: "",
  provider: "github" as GitProvider,
  url: "",
  branch: "main",
  policy_path: "",
  token: "",
  sync_seconds: "",
};
const SECRET_BYTES = 32;

/** Registers a repository. The secret of its pushes is made here and shown once. */
export function RepositoryForm({ onDone, onCancel }: {
  readonly onDone: () => void;
  readonly onCancel: () => void;
}) {
  const change = useChange();
  const [values, setValues] = useState(BEGUN);
  const [isSigned, setSigned] = useState(true);
  const [secret, setSecret] = useState<string | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    const made = isSigned ? newSecret() : null;
    change.run(async () => {
      const { name, provider, url, branch, policy_path, token, sync_seconds } = values;
      await call("gitops.create_repository", {
        body: {
          name,
          provider,
          url,
          branch,
          policy_path,
          ...token !== "" && { token },
          ...sync_seconds !== "" && { sync_seconds: Number(sync_seconds) },
          ...made !== null && { webhook_secret: made },
        },
      });
      if (made === null) onDone();
      else setSecret(made);
    });
  };
  if (secret !== null) return html`<${PushSecret} secret=${secret} onDone=${onDone} />`;
  const text = (name: keyof typeof BEGUN, label: string, rest: Record<string, unknown> = {}) => {
    const { hint, ...attributes } = rest;
    return html`
      <${Field} label=${label} hint=${hint}>${(id: string) =>
        html`
          <input id=${id} autocomplete="off" spellcheck=${false} value=${values[
            name
          ]} ...${attributes}
            onInput=${(event: Event) =>
              setValues({ ...values, [name]: (event.target as HTMLInputElement).value })} />
        `}<//>
    `;
  };
  return html`
    <form class="card" onSubmit=${submit}>
      <h2>Add a repository</h2>
      ${text("name", "Name", { required: true, maxlength: 100 })}
      <${Field} label="Git host">${(id: string) =>
        html`
          <select id=${id} value=${values.provider} onChange=${(event: Event) =>
            setValues({
              ...values,
              provider: (event.target as HTMLSelectElement).value as GitProvider,
            })}>
            ${PROVIDERS.map((one) => html`<option value=${one}>${one}</option>`)}
          </select>
        `}<//>
      ${text("url", "Clone address", {
        required: true,
        type: "url",
        placeholder: "https://github.com/acme/policies.git",
      })}
      ${text("branch", "Branch", { required: true })}
      ${text("policy_path", "File or folder", {
        placeholder: "policies",
        hint: "Empty for the whole repository.",
      })}
      ${text("token", "Access token", {
        type: "password",
        autocomplete: "new-password",
        hint: "For a private repository. It is stored encrypted and never shown.",
      })}
      ${text("sync_seconds", "Look for commits every … seconds", {
        type: "number",
        min: 60,
        max: 86_400,
        hint: "Empty to apply signed pushes only, or by hand.",
      })}
      <p>
        <label>
          <input type="checkbox" checked=${isSigned}
            onChange=${(event: Event) => setSigned((event.target as HTMLInputElement).checked)} />
          ${" "}Make a secret by which the Git host signs its pushes
        </label>
      </p>
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy}>Add it</button>
        <button type="button" onClick=${onCancel}>Cancel</button>
      </div>
    </form>
  `;
}

function PushSecret({ secret, onDone }: { readonly secret: string; readonly onDone: () => void }) {
  return html`
    <section class="card" aria-label="Secret of the pushes">
      <h2>The repository is added</h2>
      <p>
        Enter this address and this secret as a webhook for pushes at the Git host. Nobody can read
        the secret again.
      </p>
      <${Copy} text=${`${location.origin}/api/v1/gitops/webhook`} label="Copy the address" />
      <p />
      <${Copy} text=${secret} label="Copy the secret" />
      <p />
      <button type="button" class="primary" onClick=${onDone}>I have stored the secret</button>
    </section>
  `;
}

const newSecret = (): string =>
  Array.from(
    crypto.getRandomValues(new Uint8Array(SECRET_BYTES)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
