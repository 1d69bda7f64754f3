import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { call, type GitProvider } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { Check, SelectField, TextField } from "../../components/inputs.ts";
import { ShownOnce } from "../../components/shown_once.ts";

const PROVIDERS: readonly GitProvider[] = ["github", "gitlab", "gitea", "generic"];
const BEGUN = {
  name: "",
  provider: "github",
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
          provider: provider as GitProvider,
          url,
          branch,
          policy_path,
          ...token !== "" && { token },
          ...sync_seconds !== "" && { sync_seconds: Number(sync_seconds) },
          ...made !== null && { webhook_secret: made },
        },
      });
      if (made === null) return onDone();
      // The access token is not kept beside it.
      setValues(BEGUN);
      setSecret(made);
    });
  };
  if (secret !== null) {
    return html`
      <${ShownOnce} title="The repository is added" text=${secret} onDone=${onDone}
        about=${`At the Git host, add a webhook for pushes to ${location.origin}/api/v1/gitops/webhook ` +
          "with this secret. Nobody can read the secret again."}
        done="I have stored the secret" />
    `;
  }
  const field = (name: keyof typeof BEGUN) => ({
    value: values[name],
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  });
  return html`
    <form class="card" onSubmit=${submit}>
      <h2>Add a repository</h2>
      <${TextField} label="Name" required maxlength=${100} ...${field("name")} />
      <${SelectField} label="Git host" options=${PROVIDERS} value=${values.provider}
        onChange=${(provider: string) => setValues({ ...values, provider })} />
      <${TextField} label="Clone address" type="url" required ...${field("url")}
        placeholder="https://github.com/acme/policies.git" />
      <${TextField} label="Branch" required ...${field("branch")} />
      <${TextField} label="File or folder" hint="Empty for the whole repository."
        placeholder="policies" ...${field("policy_path")} />
      <${TextField} label="Access token" type="password" autocomplete="new-password"
        hint="For a private repository. It is stored encrypted and never shown."
        ...${field("token")} />
      <${TextField} label="Seconds between looks for commits" type="number" min=${60}
        max=${86_400}
        hint="Empty to apply signed pushes only, or by hand." ...${field("sync_seconds")} />
      <${Check} checked=${isSigned} onChange=${setSigned}>
        Make a secret by which the Git host signs its pushes
      <//>
      <${ChangeError} change=${change} />
      <div class="actions">
        <button type="submit" class="primary" disabled=${change.isBusy}>Add it</button>
        <button type="button" onClick=${onCancel}>Cancel</button>
      </div>
    </form>
  `;
}

const newSecret = (): string =>
  Array.from(
    crypto.getRandomValues(new Uint8Array(SECRET_BYTES)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
