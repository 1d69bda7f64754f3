import { useState } from "preact/hooks";
import { Field } from "../../components/form.ts";
import { html } from "htm/preact";
import { go, query } from "../../router.ts";

/** A text of a form, and what an input needs to show and change it. */
export function useText(initial = "") {
  const [text, setText] = useState(initial);
  const onInput = (event: Event) => setText((event.target as HTMLInputElement).value);
  return { text, input: { value: text, onInput } };
}

type Text = ReturnType<typeof useText>;

/** The e-mail by which a person signs in. */
export const EmailField = ({ email, isFixed = false }: {
  readonly email: Text;
  /** True for an invitation to one e-mail only. */
  readonly isFixed?: boolean;
}) =>
  html`
    <${Field} label="E-mail">${(id: string) =>
      html`
        <input id=${id} type="email" autocomplete="username" required readonly=${isFixed}
          ...${email.input} />
      `}<//>
  `;

/** A password that a person chooses. The relay says what is wrong with a weak one. */
export const NewPasswordField = ({ password }: { readonly password: Text }) =>
  html`
    <${Field} label="Password"
      hint="At least 8 characters. Several words make a good one.">${(
        id: string,
      ) =>
        html`
          <input id=${id} type="password" autocomplete="new-password" required minlength="8"
            ...${password.input} />
        `}<//>
  `;

/** The secret of a link, for people whose link was cut. */
export const SecretField = ({ label, hint, secret, placeholder }: {
  readonly label: string;
  readonly hint?: string;
  readonly secret: Text;
  readonly placeholder?: string;
}) =>
  html`
    <${Field} label=${label} hint=${hint}>${(id: string) =>
      html`
        <input id=${id} class="mono" autocomplete="off" spellcheck=${false} required
          placeholder=${placeholder} ...${secret.input} />
      `}<//>
  `;

/** Says when a browser cannot sign in here. */
export const HttpsNeeded = () =>
  isSecureContext ? null : html`
    <p class="bad" role="alert">
      HTTPS needed: over plain HTTP a browser can sign in only on the relay's own machine.
    </p>
  `;

/** Takes the secret of a link out of the address at once, so that neither the history nor an onlooker keeps it. */
export function takeFragment(): string {
  const secret = location.hash.slice(1);
  if (secret !== "") history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(secret);
  } catch {
    return secret;
  }
}

/** Goes to the address that was asked for; only ever to one of the console. */
export function goOn(): void {
  const { next = "/" } = query.value;
  go(/^\/(?!\/)/.test(next) ? next : "/");
}
