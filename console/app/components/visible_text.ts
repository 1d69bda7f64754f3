import { html } from "htm/preact";

/**
 * Characters that are not seen, or that change what is seen: controls, invisible and bidirectional characters, spaces
 * other than the ordinary one. Line breaks and tabs stay.
 */
const HIDDEN =
  // deno-lint-ignore no-control-regex -- the controls are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff]|[\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

interface Piece {
  readonly text: string;
  readonly isHidden: boolean;
}

/** Splits a text at its hidden characters. */
export function piecesOf(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isHidden: false });
    pieces.push({ text: match[0], isHidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isHidden: false });
  return pieces;
}

const codeOf = (text: string): string =>
  `U+${text.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** A text exactly as it is: hidden characters are shown by their code. */
export function VisibleText({ text }: { readonly text: string }) {
  const pieces = piecesOf(text);
  return html`
    <bdi>${pieces.map(({ text, isHidden }) =>
      isHidden ? html`<span class="hidden-character">${codeOf(text)}</span>` : text
    )}</bdi>
  `;
}

/** A text on one line, for lists: hidden characters and line breaks become visible marks. */
export const onOneLine = (text: string): string =>
  text.replaceAll(HIDDEN, (found) => `‹${codeOf(found)}›`).replaceAll(/\s*\n\s*/g, " ⏎ ")
    .replaceAll("\t", " ");
