import { useState } from "preact/hooks";
import { call } from "../api.ts";
import { html } from "htm/preact";
import { useData } from "../data.ts";
import { expired, me, readSession } from "../session.ts";
import { redirect } from "../router.ts";
import { Dialog } from "./dialog.ts";
import { ChangeError, useChange } from "./form.ts";
import { TextField } from "./inputs.ts";
import { onOneLine } from "./visible_text.ts";

/** Leaves the page, and what was typed there, to somebody else. */
function leave(): void {
  me.value = null;
  expired.value = false;
  redirect("/sign-in");
}

/** Asks for the password over a page whose session has ended. The page and what was typed stay. */
export function SignInAgain() {
  const change = useChange();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const { email } = me.value!.user;
  const { data: options } = useData((signal) => call("console_session.options", { signal }), []);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      await call("console_session.begin", {
        body: { email, password, ...code !== "" && { code } },
      });
      await readSession();
    });
  };
  return html`
    <${Dialog} title="Your session has ended" onClose=${() => {}}>
      <form onSubmit=${submit}>
        <p>Sign in again as ${email}. Nothing on the page is lost.</p>
        <${TextField} label="Password" type="password" autocomplete="current-password" required
          value=${password} onInput=${setPassword} />
        <${TextField} label="Code of the second factor" hint="If you have one."
          autocomplete="one-time-code" value=${code} onInput=${setCode} />
        <${ChangeError} change=${change} />
        <p class="actions">
          <button type="submit" class="primary" disabled=${change.isBusy}>Sign in</button>
          <button type="button" onClick=${leave}>Leave the page</button>
        </p>
      </form>
      ${options !== null && options.issuers.length > 0 && html`
        <div class="issuers apart">
          ${options.issuers.map(({ issuer, name, url }) =>
            html`
              <a key=${issuer} class="button" href=${url} target="_blank" rel="noopener">
                Sign in with ${onOneLine(name)} in a new tab
              </a>
            `
          )}
          <button type="button" disabled=${change.isBusy} onClick=${() => change.run(readSession)}>
            I have signed in there
          </button>
        </div>
      `}
    <//>
  `;
}
