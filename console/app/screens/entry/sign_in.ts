import { useEffect, useRef, useState } from "preact/hooks";
import { call, RelayError, type SignInOptions } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { TextField } from "../../components/inputs.ts";
import { Failure, Loading } from "../../components/states.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf, query, redirect, setQuery } from "../../router.ts";
import { me, readSession } from "../../session.ts";
import { EmailField, goOn, HttpsNeeded, issuerFailure, nextAddress, useText } from "./parts.ts";

/** Signs in, and returns to the address that was asked for. A fresh relay has nobody to sign in. */
export default function SignIn() {
  const { data, error, again } = useData(
    (signal) => call("console_session.options", { signal }),
    [],
  );
  useEffect(() => {
    if (me.value) goOn();
    else if (data?.claimed === false) redirect(`/sign-up${location.hash}`, query.value);
  }, [me.value, data]);
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  return data?.claimed ? html`<${Form} options=${data} />` : html`<${Loading} />`;
}

function Form({ options: { issuers, sign_up } }: { readonly options: SignInOptions }) {
  const change = useChange();
  const email = useText(), password = useText(), code = useText();
  const [needsCode, setNeedsCode] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (needsCode) {
      form.current!.querySelector<HTMLElement>("[autocomplete=one-time-code]")!.focus();
    }
  }, [needsCode]);
  const failed = issuerFailure();
  const returnTo = encodeURIComponent(addressOf(nextAddress()));
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const who = { email: email.text, password: password.text };
      const session = await call("console_session.begin", {
        body: { ...who, ...needsCode && { code: code.text } },
      }).catch((error) => {
        if (asksForCode(error)) setNeedsCode(true);
        throw error;
      });
      // Without the second factor that the organization requires, nothing else is permitted.
      if (session.second_factor !== undefined) setQuery({ next: "/settings" });
      await readSession();
    });
  };
  return html`
    <section class="sign-in">
      <h1>Sign in to Relay</h1>
      <${HttpsNeeded} />
      ${failed !== null &&
        html`<p class="bad" role="alert">${
          Object.hasOwn(FAILED, failed) ? FAILED[failed] : OTHER
        }</p>`}
      <form ref=${form} onSubmit=${submit}>
        <${EmailField} email=${email} />
        <${TextField} label="Password" type="password" autocomplete="current-password" required
          ...${password.field} />
        ${needsCode && html`
          <${TextField} label="Code of your second factor" autocomplete="one-time-code" required
            hint="From the authenticator, or a recovery code." ...${code.field} />
        `}
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>Sign in</button>
      </form>
      ${issuers.length > 0 && html`
        <p class="issuers">
          ${issuers.map(({ issuer, name, url }) =>
            html`
              <a key=${issuer} class="button" href="${url}&return_to=${returnTo}">
                Sign in with ${onOneLine(name)}
              </a>
            `
          )}
        </p>
      `}
      <p>${sign_up === "open"
        ? html`New here? <a href=${
          addressOf("/sign-up")
        }>Create an organization</a>, or open the link of
            your invitation.`
        : "New here? Open the link of your invitation."}</p>
      <p class="soft">Password forgotten? An administrator of your organization can send you a link.</p>
    </section>
  `;
}

/** Why a sign-in at an issuer failed, as the address says. */
const FAILED: Readonly<Record<string, string>> = {
  denied: "The identity provider did not sign you in. Try again, or use your password.",
  expired: "That sign-in took too long, or was begun in another browser. Begin it again.",
  inactive: "Your account or organization is not active. Ask an administrator.",
  refused:
    "The relay does not accept what the identity provider said about you. Ask an administrator.",
  unknown_user:
    "Nobody here has that e-mail. Ask an administrator for an invitation, and accept it first.",
  unreachable: "The relay could not reach the identity provider. Try again, or use your password.",
};
const OTHER = "The sign-in at the identity provider failed. Try again, or use your password.";

const asksForCode = (error: unknown): boolean =>
  error instanceof RelayError && error.details.reason === "second_factor_required";
