import { call } from "../../api.ts";
import { Badge } from "../../components/badge.ts";
import { Dialog } from "../../components/dialog.ts";
import { ConfirmButton, useChange } from "../../components/form.ts";
import { Name } from "../../components/names.ts";
import { Failure, Loading } from "../../components/states.ts";
import { Time } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { may } from "../../session.ts";

/** The ids that a message of the relay may name. */
const ID = /\b((?:usr|key|agt)_[0-9a-z]+)\b/;

/** A message with names in place of ids. */
const WithNames = ({ text }: { readonly text: string }) =>
  html`${
    text.split(ID).map((part, n) => n % 2 === 1 ? html`<${Name} id=${part} linked />` : part)
  }`;

/** Why a device is trusted or not, and how to end that. */
export function DeviceDialog({ id, onClose }: {
  readonly id: string;
  readonly onClose: () => void;
}) {
  const change = useChange();
  const { data, error, again } = useData(
    (signal) => call("devices.trust", { params: { id }, signal }),
    [id],
    { types: ["device"], id },
  );
  const remove = async () => {
    await call("devices.delete", { params: { id } });
    onClose();
  };
  return html`
    <${Dialog} title=${data === null ? "Device" : onOneLine(data.name)} onClose=${onClose}>
      ${error !== null && html`<${Failure} error=${error} again=${again} />`}
      ${data === null ? error === null && html`<${Loading} />` : html`
        <p><${Badge} state=${data.trust_status} tone=${data.trusted ? "good" : "warn"} />${" "}
          <code>${id}</code></p>
        <ul class="lines wrapped">
          ${data.reasons.map(({ code, message, at }) =>
            html`
              <li key=${code}>
                <span><${WithNames} text=${message} /></span>
                ${at !== null && html`<span class="soft"><${Time} at=${at} /></span>`}
              </li>
            `
          )}
        </ul>
        ${data.trust_status === "pending" && html`
          <p>The machine confirms the pairing by itself, within ten minutes of using the code.</p>
        `}
        ${may("agents:admin") && data.trust_status !== "revoked" && html`
          <${ConfirmButton}
            label="Delete the device" change=${change} action=${remove}
            question="Its credential stops working for good, and its agent's link closes within a second. The agent itself stays in the list; the machine has to be paired again."
          />
        `}
      `}
      <p class="actions apart"><button type="button" onClick=${onClose}>Close</button></p>
    <//>
  `;
}
