import { useRef, useState } from "preact/hooks";
import { html } from "htm/preact";
import { VisibleText } from "./visible_text.ts";

/** A text with a button that copies it. */
export function Copy({ text, label = "Copy" }: { readonly text: string; readonly label?: string }) {
  const [copied, setCopied] = useState(false);
  const pane = useRef<HTMLPreElement>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // The browser does not permit it: the viewer copies what is selected.
      getSelection()!.selectAllChildren(pane.current!);
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return html`
    <div class="copy">
      <pre ref=${pane}><${VisibleText} text=${text} /></pre>
      <button type="button" onClick=${copy}>${copied ? "Copied" : label}</button>
      <span class="unseen" role="status">${copied && "Copied"}</span>
    </div>
  `;
}
