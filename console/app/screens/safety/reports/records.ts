import type { ComponentChildren } from "preact";
import { html } from "htm/preact";

/** A short table of facts. On a phone each row is a card, with the names of its columns. */
export function Records({ label, heads, rows }: {
  readonly label: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly ComponentChildren[])[];
}) {
  return html`
    <table class="records" aria-label=${label}>
      <thead>
        <tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr>
      </thead>
      <tbody>
        ${rows.map((cells) =>
          html`
            <tr>${cells.map((cell, n) => html`<td data-title=${heads[n]}>${cell}</td>`)}</tr>
          `
        )}
      </tbody>
    </table>
  `;
}
