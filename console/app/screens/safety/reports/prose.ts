import { html } from "htm/preact";

/** A sentence of the program, with `code` between backticks. */
export function Prose({ text }: { readonly text: string }) {
  return html`<span>${
    text.split("`").map((part, n) => n % 2 === 1 ? html`<code>${part}</code>` : part)
  }</span>`;
}

/** Sentences of the program, as a list. */
export const ProseList = ({ texts }: { readonly texts: readonly string[] }) =>
  html`
    <ul>
      ${texts.map((text) =>
        html`
          <li>
            <${Prose} text=${text} />
          </li>
        `
      )}
    </ul>
  `;
