import { html } from "htm/preact";
import { diffLines } from "../../line_diff.ts";
import { onOneLine } from "../../components/visible_text.ts";

/** Two texts: side by side on a wide screen, one below the other on a phone. Signs and colours mark what differs. */
export function Diff({ before, after, label }: {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}) {
  const rows = diffLines(before, after);
  if (rows.every(({ kind }) => kind !== "changed")) return html`<p>Nothing differs.</p>`;
  return html`
    <ol class="diff" aria-label=${label}>
      ${rows.map(({ kind, before, after }) =>
        kind === "skipped"
          ? html`<li class="skipped soft">${before} lines are the same</li>`
          : kind === "same"
          ? html`<li><span>${onOneLine(before!)}</span><span class="again" aria-hidden="true">${
            onOneLine(after!)
          }</span></li>`
          : html`
            <li>
              ${before === null
                ? html`<span class="none" />`
                : html`<del>${onOneLine(before)}</del>`}
              ${after === null ? html`<span class="none" />` : html`<ins>${onOneLine(after)}</ins>`}
            </li>
          `
      )}
    </ol>
  `;
}
