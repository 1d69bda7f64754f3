import { useState } from "preact/hooks";
import { type ApiKey, type ApiKeyRevocation, call, type MadeWithApiKey } from "../../../api.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Check } from "../../../components/inputs.ts";
import { Name } from "../../../components/names.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { go } from "../../../router.ts";

/** Revokes a key, after showing what was made with it. */
export function KeyRevoke({ apiKey: { id }, onRevoked }: {
  readonly apiKey: ApiKey;
  readonly onRevoked: () => void;
}) {
  const change = useChange();
  const [preview, setPreview] = useState<ApiKeyRevocation | null>(null);
  const [cascade, setCascade] = useState(false);
  const look = () =>
    change.run(async () => {
      const body = { cascade: true, dry_run: true };
      setPreview(await call("api_keys.revoke", { params: { id }, body }));
    });
  const revoke = async () => {
    await call("api_keys.revoke", { params: { id }, body: { cascade } });
    onRevoked();
  };
  if (preview === null) {
    return html`
      <p>The key stops working at once, for ever.</p>
      <${ChangeError} change=${change} />
      <p><button type="button" disabled=${change.isBusy} onClick=${look}>
        Revoke the key…
      </button></p>
    `;
  }
  const { would_end, would_end_total: total } = preview;
  return html`
    <div role="status">
      ${total === 0
        ? html`<p>Nothing else was made with this key. Only the key itself ends.</p>`
        : html`
          <p>Made with this key, and still working: ${total}</p>
          <${Made} rows=${would_end} total=${total} />
          <${Check} checked=${cascade} onChange=${setCascade}>End all of these too<//>
        `}
    </div>
    <${ConfirmButton} label=${cascade ? `Revoke the key and end ${total}` : "Revoke the key"}
      change=${change} action=${revoke}
      question=${cascade
        ? `The key and the ${total} above stop working at once. This cannot be undone.`
        : total === 0
        ? "Programs that use the key are refused at once. This cannot be undone."
        : "Programs that use the key are refused at once. What was made with it goes on working. This cannot be undone."} />
  `;
}

function Made({ rows, total }: {
  readonly rows: readonly MadeWithApiKey[];
  readonly total: number;
}) {
  return html`
    <ul class="rows">
      ${rows.map(({ id, type, space, reason }) =>
        html`
          <li key=${id}>
            <p>
              ${type.replaceAll("_", " ")} <${Name} id=${id} linked />
              ${reason !== undefined && html`<span class="bad"> ${reason}</span>`}
            </p>
            ${space === "test" && html`<span class="label">test</span>`}
          </li>
        `
      )}
    </ul>
    ${total > rows.length && html`<p class="soft">and ${total - rows.length} more</p>`}
  `;
}

/** Deletes a key with its record. */
export function KeyDelete({ apiKey: { id, name } }: { readonly apiKey: ApiKey }) {
  const change = useChange();
  const remove = async () => {
    await call("api_keys.delete", { params: { id } });
    go("/keys");
  };
  return html`
    <${ConfirmButton} label="Delete the key" change=${change} action=${remove}
      question=${`“${
        onOneLine(name)
      }” stops working at once, and its usage figures are deleted. What was made with it goes on working.`} />
  `;
}
