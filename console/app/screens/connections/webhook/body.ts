import { useState } from "preact/hooks";
import { html } from "htm/preact";
import { Copy } from "../../../components/copy.ts";
import { VisibleText } from "../../../components/visible_text.ts";

/** A JSON text with line breaks and indents; null when it is not JSON. */
function prettyJson(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

/** The body of a request or answer: laid out when it is JSON, or exactly as it is. */
export function Body({ label, text }: { readonly label: string; readonly text: string }) {
  const [isExact, setExact] = useState(false);
  const pretty = prettyJson(text);
  if (text === "") return html`<p class="soft">${label} is empty.</p>`;
  return html`
    <div class="actions">
      <h3>${label}</h3>
      ${pretty !== null && html`
        <button type="button" aria-pressed=${isExact} onClick=${() => setExact(!isExact)}>
          ${isExact ? "Show it laid out" : "Show it exactly"}
        </button>
      `}
    </div>
    ${isExact
      ? html`<${Copy} text=${text} />`
      : html`<pre class="bytes" tabindex="0" aria-label=${label}><${VisibleText} text=${
        pretty ?? text
      } /></pre>`}
  `;
}
