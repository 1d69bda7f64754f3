import { call } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { addressOf, redirect } from "../../router.ts";
import { me, readSession, signOut } from "../../session.ts";
import {
  EmailField,
  HttpsNeeded,
  NewPasswordField,
  SecretField,
  useSecretOfLink,
  useText,
} from "./parts.ts";

/** Accepts an invitation, whose code is in the link's fragment. */
export default function Join() {
  const [code, setCode] = useSecretOfLink();
  return html`
    <section class="sign-in">
      <h1>Join an organization</h1>
      <${HttpsNeeded} />
      ${me.value
        ? html`<${SignedIn} />`
        : code === ""
        ? html`<${AskForCode} onCode=${setCode} />`
        : html`<${Invited} key=${code} code=${code} />`}
      ${!me.value && html`<p>Have an account? <a href=${addressOf("/sign-in")}>Sign in</a></p>`}
    </section>
  `;
}

function AskForCode({ onCode }: { readonly onCode: (code: string) => void }) {
  const code = useText();
  const submit = (event: Event) => {
    event.preventDefault();
    onCode(code.text.trim());
  };
  return html`
    <form onSubmit=${submit}>
      <p>Open the link of your invitation again, or enter its code.</p>
      <${SecretField} label="Invitation code" secret=${code} />
      <button type="submit" class="primary">Go on</button>
    </form>
  `;
}

/** Shows what the invitation is to, and creates the account. */
function Invited({ code }: { readonly code: string }) {
  const { data, error, again } = useData(
    (signal) => call("invitations.read", { body: { invite_code: code }, signal }),
    [code],
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return html`<${Loading} />`;
  const { organization, email, roles, expires_at } = data;
  return html`
    <p>You are invited to <strong>${onOneLine(organization)}</strong> as ${onOneLine(
      roles.join(", "),
    )}.
      The invitation ends <${Time} at=${expires_at} />.</p>
    <${Form} code=${code} invited=${email} />
  `;
}

function Form({ code, invited }: { readonly code: string; readonly invited: string | null }) {
  const change = useChange();
  const email = useText(invited ?? ""), password = useText();
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("console_session.sign_up", {
        body: { email: email.text, password: password.text, invite_code: code },
      });
      await readSession();
      redirect("/");
    });
  };
  return html`
    <form onSubmit=${submit}>
      <${EmailField} email=${email} isFixed=${invited !== null} />
      <${NewPasswordField} password=${password} />
      <${ChangeError} change=${change} />
      <button type="submit" class="primary" disabled=${change.isBusy}>Join and sign in</button>
    </form>
  `;
}

/** Joining makes a new account, so whoever is signed in signs out first; the code stays on this page. */
function SignedIn() {
  const change = useChange();
  return html`
    <p>You are signed in as ${me.value!.user.email} of ${onOneLine(
      me.value!.organization.name,
    )}. An invitation
      makes a new account. Sign out to accept it.</p>
    <${ChangeError} change=${change} />
    <p class="actions">
      <button type="button" class="primary" disabled=${change.isBusy}
        onClick=${() => change.run(() => signOut())}>Sign out and accept</button>
      <a class="button" href=${addressOf("/")}>Stay signed in</a>
    </p>
  `;
}
