import { call, type PairingCode } from "../../api.ts";
import { ChangeError, ConfirmButton, useChange } from "../../components/form.ts";
import { Name } from "../../components/names.ts";
import { Failure } from "../../components/states.ts";
import { now, TimeLeft } from "../../components/time.ts";
import { onOneLine } from "../../components/visible_text.ts";
import { useData } from "../../data.ts";
import { html } from "htm/preact";
import { may } from "../../session.ts";

const SHOWN = 20;

/** The codes that can still pair a machine. Their values were shown once, where they were made. */
export function PairingCodes() {
  const { data, error, again } = useData(
    (signal) => call("devices.list_codes", { query: { limit: SHOWN }, signal }),
    [],
    { types: ["pairing_code", "device"] },
  );
  if (error !== null) return html`<${Failure} error=${error} again=${again} />`;
  if (data === null) return null;
  const { pagination } = data;
  const pairing_codes = data.pairing_codes.filter(({ expires_at }) =>
    Date.parse(expires_at) > now.value
  );
  if (pairing_codes.length === 0) return null;
  return html`
    <section class="card">
      <h2>Codes that still work</h2>
      <ul class="lines">
        ${pairing_codes.map((code) => html`<${Line} key=${code.id} code=${code} again=${again} />`)}
      </ul>
      ${pagination.total > SHOWN && html`<p class="soft">and ${pagination.total - SHOWN} more</p>`}
    </section>
  `;
}

function Line({ code: { id, labels, created_by, expires_at }, again }: {
  readonly code: PairingCode;
  readonly again: () => void;
}) {
  const change = useChange();
  const all = Object.entries(labels);
  return html`
    <li>
      <span>
        ${all.length === 0 ? "Without labels" : all.map(([key, value]) =>
          html`
            <span class="label">${onOneLine(`${key}=${value}`)}</span>
          `
        )}
      </span>
      <span class="soft">made by <${Name} id=${created_by} />, <${TimeLeft} until=${expires_at} /> left</span>
      ${may("agents:admin") && html`
        <${ConfirmButton}
          label="Void the code" change=${change}
          question="Nobody can pair a machine with it any more."
          action=${async () => {
            await call("devices.delete_code", { params: { id } });
            again();
          }}
        />
      `}
      <${ChangeError} change=${change} />
    </li>
  `;
}
