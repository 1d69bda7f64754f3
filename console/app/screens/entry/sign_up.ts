import { useEffect, useState } from "preact/hooks";
import { call, RelayError } from "../../api.ts";
import { ChangeError, Field, useChange } from "../../components/form.ts";
import { Failure, Loading } from "../../components/states.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { isLoopback } from "../../pairing.ts";
import { addressOf } from "../../router.ts";
import { me, readSession } from "../../session.ts";
import { EmailField, goOn, HttpsNeeded, isClaimed, NewPasswordField, useText } from "./parts.ts";

/** Creates an organization and its owner: the first ones claim the relay. */
export default function SignUp() {
  const { data: claimed, error, again } = useData(isClaimed, []);
  useEffect(() => {
    if (me.value) goOn();
  }, [me.value]);
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  return claimed === null ? html`<${Loading} />` : html`<${Form} claimed=${claimed} />`;
}

function Form({ claimed }: { readonly claimed: boolean }) {
  const change = useChange();
  const organization = useText(), email = useText(), password = useText(), claim = useText();
  const [needsClaim, setNeedsClaim] = useState(!claimed && !isLoopback(location.hostname));
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const who = { email: email.text, password: password.text };
      const claim_code = claim.text.trim();
      try {
        await call("console_session.sign_up", {
          body: { ...who, organization: organization.text, ...claim_code !== "" && { claim_code } },
        });
      } catch (error) {
        if (asksForClaim(error)) setNeedsClaim(true);
        throw error;
      }
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
        ${needsClaim && html`
          <${Field} label="Claim code" hint=${WHERE}>${(id: string) =>
            html`
              <input id=${id} class="mono" autocomplete="off" spellcheck=${false} required
                placeholder="claim_…" ...${claim.input} />
            `}<//>
        `}
        <${Field} label="Organization" hint="Your company or team. You can rename it later.">${(
          id: string,
        ) =>
          html`<input id=${id} autocomplete="organization" required ...${organization.input} />`}<//>
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

const asksForClaim = (error: unknown): boolean =>
  error instanceof RelayError && error.details.reason === "claim_code_required";
