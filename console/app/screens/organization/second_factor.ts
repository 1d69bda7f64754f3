import { useState } from "preact/hooks";
import { call, type SecondFactor } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { TextField } from "../../components/inputs.ts";
import { ShownOnce } from "../../components/shown_once.ts";
import { Failure, Loading } from "../../components/states.ts";
import { ExactTime } from "../../components/time.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { SecondFactorEnrol } from "./second_factor_enrol.ts";

/** The viewer's second factor: set up, turned off, and its recovery codes. */
export function SecondFactorCard() {
  const { data, error, again } = useData((signal) => call("second_factor.read", { signal }), []);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const shown = (codes: readonly string[]) => {
    setCodes(codes);
    again();
  };
  if (codes !== null) {
    return html`
      <${ShownOnce} title="Your recovery codes" text=${codes.join("\n")} done="I have stored them"
        about="Each code signs you in once without your authenticator. Relay does not show them again."
        onDone=${() => setCodes(null)} />
    `;
  }
  return html`
    <section class="card" aria-label="Second factor">
      <div class="title">
        <h2>Second factor</h2>
        ${data !== null &&
          html`<${Badge} state=${data.enabled ? "on" : "off"} tone=${
            data.enabled ? "good" : "warn"
          } />`}
      </div>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null && error === null && html`<${Loading} />`}
      ${data !== null && !data.enabled &&
        html`<${SecondFactorEnrol} isRequired=${data.required} onCodes=${shown} />`}
      ${data?.enabled && html`<${Enabled} factor=${data} onCodes=${shown} onOff=${again} />`}
    </section>
  `;
}

function Enabled({ factor, onCodes, onOff }: {
  readonly factor: SecondFactor;
  readonly onCodes: (codes: readonly string[]) => void;
  readonly onOff: () => void;
}) {
  const renewal = useChange();
  const off = useChange();
  const [code, setCode] = useState("");
  const [offCode, setOffCode] = useState("");
  const renew = (event: Event) => {
    event.preventDefault();
    renewal.run(async () => {
      const { recovery_codes } = await call("second_factor.recovery_codes", { body: { code } });
      onCodes(recovery_codes);
    });
  };
  const disable = async () => {
    await call("second_factor.disable", { body: { code: offCode } });
    onOff();
  };
  return html`
    <p>
      On since <${ExactTime} at=${factor.confirmed_at} />. ${factor.recovery_codes_left} recovery
      codes are left.
    </p>
    <form onSubmit=${renew}>
      <${TextField} label="Code of your authenticator" inputmode="numeric"
        autocomplete="one-time-code" required value=${code} onInput=${setCode} />
      <${ChangeError} change=${renewal} />
      <p><button type="submit" disabled=${renewal.isBusy}>Replace the recovery codes</button></p>
    </form>
    <${ConfirmButton} label="Turn the second factor off" change=${off} action=${disable}
      question=${factor.required
        ? "Your organization requires one: until you set it up again, nothing else is open to you. Your other sessions end."
        : "Your password alone signs you in then. Your other sessions end."}>
      <${TextField} label="Code, or a recovery code" autocomplete="one-time-code" value=${offCode}
        onInput=${setOffCode} />
      <//>
  `;
}
