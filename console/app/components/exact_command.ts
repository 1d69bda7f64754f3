import { useEffect, useRef } from "preact/hooks";
import type { Span } from "../../../core/client/client.ts";
import { html } from "htm/preact";
import { Copy } from "./copy.ts";
import { piecesOf } from "./visible_text.ts";

/**
 * A command exactly as the agent's shell gets it, in the order of its bytes: hidden characters by their code, line
 * breaks marked, letters beyond ASCII underlined, and the part that the shield holds against it marked. A long one
 * scrolls; `onSeen` is called once its end was in view.
 */
export function ExactCommand({ text, span = null, sha256, onSeen }: {
  readonly text: string;
  readonly span?: Span | null;
  readonly sha256?: string;
  readonly onSeen?: () => void;
}) {
  const pane = useRef<HTMLPreElement>(null);
  const check = () => {
    const { scrollHeight, scrollTop, clientHeight } = pane.current!;
    if (scrollHeight - scrollTop - clientHeight < 8) onSeen?.();
  };
  useEffect(() => {
    check();
    // A page that grows wider may show all of it without scrolling.
    const observer = new ResizeObserver(check);
    observer.observe(pane.current!);
    return () => observer.disconnect();
  }, [text]);
  const { start, end } = span ?? { start: 0, end: 0 };
  const shown = [
    ...partsOf(text.slice(0, start)),
    end > start && html`<mark>${partsOf(text.slice(start, end))}</mark>`,
    ...partsOf(text.slice(end)),
  ];
  return html`
    <figure class="exact">
      <pre ref=${pane} tabindex="0" role="region" aria-label="The whole command" onScroll=${check}>
        <bdo dir="ltr">${shown}</bdo>
      </pre>
      <figcaption class="soft">${summaryOf(text)}</figcaption>
      ${sha256 !== undefined && html`
        <details>
          <summary>Copy, and its SHA-256</summary>
          <${Copy} text=${text} label="Copy the command" />
          <p><code>${sha256}</code></p>
        </details>
      `}
    </figure>
  `;
}

/** Each piece of a text, shown so that no two different texts look the same. */
function partsOf(text: string) {
  return piecesOf(text).flatMap(({ text: piece, isHidden }) => {
    if (isHidden) return [html`<span class="hidden-character">${codesOf(piece)}</span>`];
    return piece.split(/(\n|\t|[^\t\n -~]+)/).filter((part) => part !== "").map((part) =>
      part === "\n"
        ? html`<span class="hidden-character">⏎</span>${"\n"}`
        : part === "\t"
        ? html`<span class="hidden-character">⇥</span>${"\t"}`
        : /[^ -~]/.test(part)
        ? html`<u title=${codesOf(part)}>${part}</u>`
        : part
    );
  });
}

const codesOf = (text: string): string =>
  [...text].map((one) => `U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`)
    .join(" ");

const counted = (n: number, one: string, many = `${one}s`): string =>
  `${n.toLocaleString()} ${n === 1 ? one : many}`;

/** The size of a command, and what in it may deceive the eye. */
function summaryOf(text: string): string {
  const pieces = piecesOf(text);
  const hidden = pieces.filter(({ isHidden }) => isHidden).length;
  const beyond = pieces.filter(({ isHidden }) => !isHidden)
    .reduce((sum, { text }) => sum + [...text.replaceAll(/[\t\n -~]/g, "")].length, 0);
  return [
    counted(new TextEncoder().encode(text).length, "byte"),
    counted(text.split("\n").length, "line"),
    ...hidden > 0 ? [`${counted(hidden, "hidden character")}, shown by code`] : [],
    ...beyond > 0 ? [`${counted(beyond, "character")} beyond ASCII, underlined`] : [],
  ].join(" · ");
}
