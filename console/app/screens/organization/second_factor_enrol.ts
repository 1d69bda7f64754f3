import { useState } from "preact/hooks";
import { call } from "../../api.ts";
import { Copy } from "../../components/copy.ts";
import { ChangeError, useChange } from "../../components/form.ts";
import { TextField } from "../../components/inputs.ts";
import { html } from "htm/preact";
import { QrCode } from "./qr_code.ts";

/** Sets up an authenticator: the password, then its secret as a picture, then its first code. */
export function SecondFactorEnrol({ isRequired, onCodes }: {
  readonly isRequired: boolean;
  readonly onCodes: (codes: readonly string[]) => void;
}) {
  const change = useChange();
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [enrolled, setEnrolled] = useState<{ secret: string; uri: string } | null>(null);
  const enrol = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      setEnrolled(await call("second_factor.enrol", { body: { password } }));
      setPassword("");
    });
  };
  const confirm = (event: Event) => {
    event.preventDefault();
    change.run(async () => {
      const { recovery_codes } = await call("second_factor.confirm", { body: { code } });
      onCodes(recovery_codes);
    });
  };
  if (enrolled === null) {
    return html`
      <p>With an authenticator app, a stolen password alone does not sign anybody in.</p>
      ${isRequired && html`<p class="warn">Your organization requires it.</p>`}
      <form onSubmit=${enrol}>
        <${TextField} label="Your password" type="password" autocomplete="current-password" required
          value=${password} onInput=${setPassword} />
        <${ChangeError} change=${change} />
        <p><button type="submit" disabled=${change.isBusy}>Set up a second factor</button></p>
      </form>
    `;
  }
  return html`
    <p>Scan this with your authenticator app, or enter the secret by hand.</p>
    <${QrCode} text=${enrolled.uri} label="The authenticator's secret as a QR code" />
    <${Copy} text=${enrolled.secret} label="Copy the secret" />
    <p><a href=${enrolled.uri}>Open it in the app on this device</a></p>
    <form onSubmit=${confirm}>
      <${TextField} label="First code of the authenticator" inputmode="numeric"
        autocomplete="one-time-code" required value=${code} onInput=${setCode}
        hint="Your other sessions end when it is right." />
      <${ChangeError} change=${change} />
      <p><button type="submit" class="primary" disabled=${change.isBusy}>Turn it on</button></p>
    </form>
  `;
}
