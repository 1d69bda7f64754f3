import { useState } from "preact/hooks";
import { html } from "htm/preact";
import { VisibleText } from "./visible_text.ts";

/** A text with a button that copies it. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return html`
    <div class="copy">
      <pre><${VisibleText} text=${text} /></pre>
      <button type="button" onClick=${copy}>${copied ? "Copied" : label}</button>
    </div>
  `;
}
