import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { TextField } from "../../components/inputs.ts";
import { html } from "htm/preact";
import { me } from "../../session.ts";

/** Changes the viewer's password. */
export function Password() {
  const change = useChange();
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [ended, setEnded] = useState<number | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const { sessions_ended } = await call("account.change_password", {
        body: { current_password: current, new_password: next },
      });
      setEnded(sessions_ended);
      setCurrent("");
      setNext("");
    });
  };
  return html`
    <section class="card" aria-label="Password">
      <h2>Password</h2>
      <form onSubmit=${submit}>
        <input type="hidden" autocomplete="username" value=${me.value!.user.email} />
        <${TextField} label="Present password" type="password" autocomplete="current-password"
          required value=${current} onInput=${setCurrent} />
        <${TextField} label="New password" type="password" autocomplete="new-password" required
          minlength=${8} value=${next} onInput=${setNext}
          hint="Your other sessions end when it changes." />
        <${ChangeError} change=${change} />
        <p><button type="submit" disabled=${change.isBusy}>Change the password</button></p>
        <p role="status" class="good">${ended !== null &&
          `The password is changed. Other sessions that ended: ${ended}.`}</p>
      </form>
    </section>
  `;
}
