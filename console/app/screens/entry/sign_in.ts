import { useEffect, useState } from "preact/hooks";
import { call, RelayError } from "../../api.ts";
import { ChangeError, Field, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf, go, query } from "../../router.ts";
import { me, readSession } from "../../session.ts";
import { EmailField, goOn, HttpsNeeded, isClaimed, useText } from "./parts.ts";

/** Signs in, and returns to the address that was asked for. A fresh relay has nobody to sign in. */
export default function SignIn() {
  const { data: claimed, error, again } = useData(isClaimed, []);
  useEffect(() => {
    if (me.value) goOn();
    else if (claimed === false) go("/sign-up", query.value);
  }, [me.value, claimed]);
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  return claimed ? html`<${Form} />` : html`<${Loading} />`;
}

function Form() {
  const change = useChange();
  const email = useText(), password = useText(), code = useText();
  const [needsCode, setNeedsCode] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      try {
        await call("console_session.begin", {
          body: {
            email: email.text,
            password: password.text,
            ...needsCode && { code: code.text },
          },
        });
      } catch (error) {
        if (asksForCode(error)) setNeedsCode(true);
        throw error;
      }
      await readSession();
    });
  };
  return html`
    <section class="sign-in">
      <h1>Sign in to Relay</h1>
      <${HttpsNeeded} />
      <form onSubmit=${submit}>
        <${EmailField} email=${email} />
        <${Field} label="Password">${(id: string) =>
          html`
            <input id=${id} type="password" autocomplete="current-password" required
              ...${password.input} />
          `}<//>
        ${needsCode && html`
          <${Field} label="Code of your second factor">${(id: string) =>
            html`
              <input id=${id} inputmode="numeric" autocomplete="one-time-code" required autofocus
                ...${code.input} />
            `}<//>
        `}
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>Sign in</button>
      </form>
      <p>New here? <a href=${addressOf("/sign-up")}>Create an organization</a>, or open the link
        of your invitation.</p>
      <p class="soft">Password forgotten? An administrator of your organization can send you a link.</p>
    </section>
  `;
}

const asksForCode = (error: unknown): boolean =>
  error instanceof RelayError && error.details.reason === "second_factor_required";
