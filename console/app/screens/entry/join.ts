import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { html } from "htm/preact";
import { addressOf, go } from "../../router.ts";
import { me, readSession, signOut } from "../../session.ts";
import {
  EmailField,
  HttpsNeeded,
  NewPasswordField,
  SecretField,
  takeFragment,
  useText,
} from "./parts.ts";

/** Accepts an invitation, whose code is in the link's fragment. */
export default function Join() {
  const [given] = useState(takeFragment);
  const code = useText(given);
  if (me.value) return html`<${SignedIn} />`;
  return html`<${Form} code=${code} isGiven=${given !== ""} />`;
}

function Form({ code, isGiven }: {
  readonly code: ReturnType<typeof useText>;
  readonly isGiven: boolean;
}) {
  const change = useChange();
  const email = useText(), password = useText();
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("console_session.sign_up", {
        body: { email: email.text, password: password.text, invite_code: code.text.trim() },
      });
      await readSession();
      go("/");
    });
  };
  return html`
    <section class="sign-in">
      <h1>Join an organization</h1>
      <${HttpsNeeded} />
      <p>${isGiven
        ? "You are invited. Choose the password of your new account. If the invitation is for one e-mail, use that."
        : "Open the link of your invitation again, or enter its code."}</p>
      <form onSubmit=${submit}>
        ${!isGiven && html`
          <${SecretField} label="Invitation code" secret=${code} />
        `}
        <${EmailField} email=${email} />
        <${NewPasswordField} password=${password} />
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>Join and sign in</button>
      </form>
      <p>Have an account? <a href=${addressOf("/sign-in")}>Sign in</a></p>
    </section>
  `;
}

/** Joining makes a new account, so whoever is signed in signs out first; the code stays on this page. */
function SignedIn() {
  const change = useChange();
  return html`
    <section class="sign-in">
      <h1>Join an organization</h1>
      <p>You are signed in as ${me.value!.user.email} of ${me.value!.organization
        .name}. An invitation
        makes a new account. Sign out to accept it.</p>
      <${ChangeError} change=${change} />
      <p class="actions">
        <button type="button" class="primary" disabled=${change.isBusy}
          onClick=${() => change.run(() => signOut())}>Sign out and accept</button>
        <a class="button" href=${addressOf("/")}>Stay signed in</a>
      </p>
    </section>
  `;
}
