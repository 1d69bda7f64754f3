import { useState } from "preact/hooks";
import { type ApiKey, type ApiKeyRotation, call } from "../../../api.ts";
import { ConfirmButton, useChange } from "../../../components/form.ts";
import { SelectField } from "../../../components/inputs.ts";
import { ShownOnce } from "../../../components/shown_once.ts";
import { ExactTime } from "../../../components/time.ts";
import { html } from "htm/preact";

const GRACE = [["24", "24 hours"], ["1", "1 hour"], ["72", "3 days"], ["0", "none: it ends now"]];

/** Gives a key a new value. */
export function KeyRotate({ apiKey: { id, status, grace_period_ends }, onRotated }: {
  readonly apiKey: ApiKey;
  readonly onRotated: () => void;
}) {
  const change = useChange();
  const [hours, setHours] = useState("24");
  const [rotated, setRotated] = useState<ApiKeyRotation | null>(null);
  const rotate = async () => {
    const body = { grace_period_hours: Number(hours) };
    setRotated(await call("api_keys.rotate", { params: { id }, body }));
    onRotated();
  };
  if (rotated !== null) {
    return html`
      <${ShownOnce} title="The key's new value" about="Store it now. Relay does not show it again."
        text=${rotated.new_key} done="I have stored it" onDone=${() => setRotated(null)} />
    `;
  }
  const ends = hours === "0"
    ? "The old value stops working at once."
    : `The old value works for ${GRACE.find(([value]) => value === hours)![1]} more.`;
  return html`
    <section class="card" aria-label="Rotate">
      <h2>Rotate</h2>
      ${status === "rotating"
        ? html`<p>
        It was rotated. The old value works until <${ExactTime} at=${grace_period_ends} />;
        then it can be rotated again.
      </p>`
        : html`
          <p>The key gets a new value. Its rights and its expiry stay.</p>
          <${SelectField} label="The old value works for" value=${hours} options=${GRACE}
            onChange=${setHours} />
          <${ConfirmButton} label="Rotate the key" change=${change} action=${rotate}
            question=${`Programs need the new value. ${ends}`} />
        `}
    </section>
  `;
}
