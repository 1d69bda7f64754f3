import { useEffect, useState } from "preact/hooks";
import { call, RelayError } from "../../api.ts";
import { ChangeError, Field, useChange } from "../../components/form.ts";
import { html } from "../../html.ts";
import { addressOf, go, query } from "../../router.ts";
import { me, readSession } from "../../session.ts";

/** Signs in, and returns to the address that was asked for. */
export default function SignIn() {
  const change = useChange();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string | null>(null);
  useEffect(() => {
    if (me.value) goOn();
  }, [me.value]);
  const submit = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      try {
        await call("console_session.begin", {
          body: { email, password, ...code !== null && { code } },
        });
      } catch (error) {
        if (needsCode(error)) setCode("");
        throw error;
      }
      await readSession();
    });
  };
  return html`
    <section class="sign-in">
      <h1>Sign in to Relay</h1>
      ${!isSecureContext && html`
        <p class="bad" role="alert">
          HTTPS needed: over plain HTTP a browser can sign in only on the relay's own machine.
        </p>
      `}
      <form onSubmit=${submit}>
        <${Field} label="E-mail">${(id: string) =>
          html`
            <input id=${id} type="email" autocomplete="username" required value=${email} autofocus
              onInput=${(event: Event) => setEmail((event.target as HTMLInputElement).value)} />
          `}<//>
        <${Field} label="Password">${(id: string) =>
          html`
            <input id=${id} type="password" autocomplete="current-password" required value=${password}
              onInput=${(event: Event) => setPassword((event.target as HTMLInputElement).value)} />
          `}<//>
        ${code !== null && html`
          <${Field} label="Code of your second factor">${(id: string) =>
            html`
              <input id=${id} inputmode="numeric" autocomplete="one-time-code" required value=${code}
                onInput=${(event: Event) => setCode((event.target as HTMLInputElement).value)} />
            `}<//>
        `}
        <${ChangeError} change=${change} />
        <button type="submit" class="primary" disabled=${change.isBusy}>Sign in</button>
      </form>
      <p>New here? <a href=${addressOf("/sign-up")}>Create an organization</a></p>
    </section>
  `;
}

/** Goes to the address that was asked for; only ever to one of the console. */
function goOn(): void {
  const { next = "/" } = query.value;
  go(next.startsWith("/") ? next : "/");
}

const needsCode = (error: unknown): boolean =>
  error instanceof RelayError && error.details.reason === "second_factor_required";
