import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { html } from "htm/preact";
import { addressOf } from "../../router.ts";
import { me, readSession } from "../../session.ts";
import { NewPasswordField, SecretField, useSecretOfLink, useText } from "./parts.ts";

/** Sets a new password with the token of a link, which is in the link's fragment. */
export default function Reset() {
  const [given] = useSecretOfLink();
  const [done, setDone] = useState<string | null>(null);
  const change = useChange();
  const typed = useText(), password = useText();
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const { email } = await call("account.reset_password", {
        body: { token: given || typed.text.trim(), password: password.text },
      });
      setDone(email);
      // Whoever was signed in here as that person is not any more.
      if (me.value?.user.email === email) me.value = null;
      await readSession();
    });
  };
  if (done !== null) {
    return html`
      <section class="sign-in">
        <h1>The password is changed</h1>
        <p>It is that of ${done}. All sessions of that account have ended; a second factor stays.</p>
        <p><a class="button primary" href=${addressOf("/sign-in")}>Sign in</a></p>
      </section>
    `;
  }
  return html`
    <section class="sign-in">
      <h1>Choose a new password</h1>
      <p>${given === ""
        ? "Open the link that an administrator sent you again, or enter its token."
        : "The link works once. It ends all sessions of your account."}</p>
      <form onSubmit=${submit}>
        ${given === "" && html`
          <${SecretField} label="Token of the link" secret=${typed} />
        `}
        <${NewPasswordField} password=${password} />
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>Set the password</button>
      </form>
    </section>
  `;
}
