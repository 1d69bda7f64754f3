import { useEffect } from "preact/hooks";
import { call, type SignInOptions } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { TextField } from "../../components/inputs.ts";
import { Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { me, readSession } from "../../session.ts";
import { EmailField, goOn, HttpsNeeded, NewPasswordField, SecretField, useText } from "./parts.ts";

/** Creates an organization and its owner: the first ones claim the relay. */
export default function SignUp() {
  const { data, error, again } = useData(
    (signal) => call("console_session.options", { signal }),
    [],
  );
  useEffect(() => {
    if (me.value) goOn();
  }, [me.value]);
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return html`<${Loading} />`;
  const isOpen = !data.claimed || data.sign_up === "open";
  return isOpen ? html`<${Form} options=${data} />` : html`<${Closed} options=${data} />`;
}

function Form({ options: { claimed, claim_code } }: { readonly options: SignInOptions }) {
  const change = useChange();
  const organization = useText(), email = useText(), password = useText(), claim = useText();
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("console_session.sign_up", {
        body: {
          email: email.text,
          password: password.text,
          organization: organization.text,
          ...claim_code && { claim_code: claim.text.trim() },
        },
      });
      await readSession();
    });
  };
  return html`
    <section class="sign-in">
      <h1>${claimed ? "Create an organization" : "Set up this relay"}</h1>
      <${HttpsNeeded} />
      ${!claimed && html`
        <p>Nobody has signed up yet. The first account owns this relay: its organization administers
          the installation.</p>
      `}
      <form onSubmit=${submit}>
        ${claim_code && html`
          <${SecretField} label="Claim code" hint=${WHERE} secret=${claim} placeholder="claim_…" />
        `}
        <${TextField} label="Organization" hint="Your company or team. You can rename it later."
          autocomplete="organization" required ...${organization.field} />
        <${EmailField} email=${email} />
        <${NewPasswordField} password=${password} />
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>
          ${claimed ? "Create it and sign in" : "Claim the relay and sign in"}
        </button>
      </form>
      ${claimed && html`<p>Have an account? <a href=${addressOf("/sign-in")}>Sign in</a></p>`}
    </section>
  `;
}

const WHERE = "Relay prints it when it starts: look at its terminal, or at its log, such as with " +
  "journalctl -u relay. Only whoever runs the server can read it there.";

/** Nobody may create an organization here. */
const Closed = ({ options: { sign_up } }: { readonly options: SignInOptions }) =>
  html`
    <section class="sign-in">
      <h1>Create an organization</h1>
      <p>${sign_up === "invite"
        ? "This relay takes invited people only. Ask an administrator for an invitation, and open its link."
        : "This relay takes no new people."}</p>
      <p><a class="button" href=${addressOf("/sign-in")}>Sign in</a></p>
    </section>
  `;
