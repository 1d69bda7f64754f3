import { useState } from "preact/hooks";
import { type ApiKey, type ApiKeyRevocation, call, type MadeWithApiKey } from "../../../api.ts";
import { ChangeError, ConfirmButton, useChange } from "../../../components/form.ts";
import { Check } from "../../../components/inputs.ts";
import { Name } from "../../../components/names.ts";
import { onOneLine } from "../../../components/visible_text.ts";
import { html } from "htm/preact";
import { go } from "../../../router.ts";

/** Revokes a key, after showing what was made with it. What still works of that can be ended later, too. */
export function KeyRevoke({ apiKey: { id, status }, onRevoked }: {
  readonly apiKey: ApiKey;
  readonly onRevoked: () => void;
}) {
  const change = useChange();
  const [seen, setSeen] = useState<ApiKeyRevocation | null>(null);
  const [isChosen, setChosen] = useState(false);
  const isOver = status === "revoked";
  const cascade = isOver || isChosen;
  const look = () =>
    change.run(async () => {
      setSeen(await call("api_keys.revoke", { params: { id }, body: { dry_run: true } }));
    });
  const revoke = async () => {
    // One request ends a part of many; the answer says what is left.
    setSeen(await call("api_keys.revoke", { params: { id }, body: { cascade } }));
    onRevoked();
  };
  if (seen === null) {
    return html`
      <p>${isOver ? "The key is revoked." : "The key stops working at once, for ever."}</p>
      <${ChangeError} change=${change} />
      <p><button type="button" disabled=${change.isBusy} onClick=${look}>
        ${isOver ? "Show what was made with it" : "Revoke the key…"}
      </button></p>
    `;
  }
  const { would_end, would_end_total: total, ended_total: ended } = seen;
  const label = isOver
    ? `End these ${total}`
    : cascade
    ? `Revoke the key and end ${total}`
    : "Revoke the key";
  return html`
    <div role="status">
      ${ended > 0 && html`<p>Ended: ${ended}</p>`}
      ${total === 0 ? html`<p>Nothing else that was made with this key works.</p>` : html`
        <p>Made with this key, and still working: ${total}</p>
        <${Made} rows=${would_end} total=${total} />
        ${!isOver &&
          html`<${Check} checked=${isChosen} onChange=${setChosen}>End all of these too<//>`}
      `}
    </div>
    ${(!isOver || total > 0) && html`
      <${ConfirmButton} label=${label} change=${change} action=${revoke}
        question=${cascade
          ? `${
            isOver ? "All" : "The key and all"
          } ${total} above stop working at once. This cannot be undone.`
          : total === 0
          ? "Programs that use the key are refused at once. This cannot be undone."
          : "Programs that use the key are refused at once. What was made with it goes on working. This cannot be undone."} />
    `}
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
