import { html } from "htm/preact";

/** A sentence of the program, with `code` between backticks. */
export function Prose({ text }: { readonly text: string }) {
  return html`<span>${
    text.split("`").map((part, n) => n % 2 === 1 ? html`<code>${part}</code>` : part)
  }</span>`;
}
