import { useEffect, useState } from "preact/hooks";
import { TextField } from "../../components/inputs.ts";
import { html } from "htm/preact";
import { path, query, redirect } from "../../router.ts";

/** A text of a form, and what its field needs to show and change it. */
export function useText(initial = "") {
  const [text, onInput] = useState(initial);
  return { text, field: { value: text, onInput } };
}

type Text = ReturnType<typeof useText>;

/** The e-mail by which a person signs in. */
export const EmailField = ({ email, isFixed = false }: {
  readonly email: Text;
  /** True for an invitation to one e-mail only. */
  readonly isFixed?: boolean;
}) =>
  html`
    <${TextField} label="E-mail" type="email" autocomplete="username" required readonly=${isFixed}
      ...${email.field} />
  `;

/** A password that a person chooses. The relay says what is wrong with a weak one. */
export const NewPasswordField = ({ password }: { readonly password: Text }) =>
  html`
    <${TextField} label="Password" hint="At least 8 characters. Several words make a good one."
      type="password" autocomplete="new-password" required minlength="8" ...${password.field} />
  `;

/** The secret of a link, for people whose link was cut. */
export const SecretField = ({ label, hint, secret, placeholder }: {
  readonly label: string;
  readonly hint?: string;
  readonly secret: Text;
  readonly placeholder?: string;
}) =>
  html`
    <${TextField} label=${label} hint=${hint} class="mono" spellcheck=${false} required
      placeholder=${placeholder} ...${secret.field} />
  `;

/** Says when a browser cannot sign in here. */
export const HttpsNeeded = () =>
  isSecureContext ? null : html`
    <p class="bad" role="alert">
      HTTPS needed: over plain HTTP a browser can sign in only on the relay's own machine.
    </p>
  `;

/** The secret of a link, also of one that is opened while the screen is shown, and how to set another. */
export function useSecretOfLink() {
  const state = useState(takeFragment);
  const [, setSecret] = state;
  useEffect(() => {
    const take = () => {
      const found = takeFragment();
      if (found !== "") setSecret(found);
    };
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }, []);
  return state;
}

/** Takes the secret of a link out of the address at once, so that neither the history nor an onlooker keeps it. */
function takeFragment(): string {
  const secret = location.hash.slice(1);
  if (secret !== "") history.replaceState(null, "", location.pathname + location.search);
  try {
    return decodeURIComponent(secret);
  } catch {
    return secret;
  }
}

/** The address that was asked for; only ever one of the console. */
export function nextAddress(): string {
  const { next = "/" } = query.value;
  if (!URL.canParse(next, location.origin)) return "/";
  const { pathname, search } = new URL(next, location.origin);
  return pathname === path.value ? "/" : pathname.replace(/^\/+/, "/") + search;
}

/** Why a sign-in at an issuer failed, by the fragment of the address; null when none did. */
export const issuerFailure = (): string | null =>
  /^#sign_in_failed=(\w+)$/.exec(location.hash)?.[1] ?? null;

/** Goes to the address that was asked for, with its fragment. */
export function goOn(): void {
  redirect(nextAddress() + (issuerFailure() === null ? location.hash : ""));
}
