import { html } from "htm/preact";
import { keysNow } from "../keys.ts";
import { Dialog } from "./dialog.ts";

/** The keys that work now. */
export function Help({ onClose }: { readonly onClose: () => void }) {
  return html`
    <${Dialog} title="Keys" onClose=${onClose}>
      <dl class="keys">
        ${keysNow().map(({ key, about }) =>
          html`
            <dt><kbd>${key}</kbd></dt>
            <dd>${about}</dd>
          `
        )}
        <dt><kbd>Enter</kbd></dt><dd>Open the focused row</dd>
      </dl>
      <button type="button" onClick=${onClose}>Close</button>
      <//>
  `;
}
