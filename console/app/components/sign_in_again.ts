import { useState } from "preact/hooks";
import { call } from "../api.ts";
import { html } from "htm/preact";
import { useData } from "../data.ts";
import { me, readSession } from "../session.ts";
import { Dialog } from "./dialog.ts";
import { ChangeError, Field, useChange } from "./form.ts";
import { onOneLine } from "./visible_text.ts";

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
        <${Field} label="Password">${(id: string) =>
          html`
            <input id=${id} type="password" autocomplete="current-password" required value=${password}
              onInput=${(event: Event) => setPassword((event.target as HTMLInputElement).value)} />
          `}<//>
        <${Field} label="Code of the second factor" hint="If you have one.">${(id: string) =>
          html`
            <input id=${id} inputmode="numeric" autocomplete="one-time-code" value=${code}
              onInput=${(event: Event) => setCode((event.target as HTMLInputElement).value)} />
          `}<//>
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>Sign in</button>
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
