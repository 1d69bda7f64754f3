import { html } from "htm/preact";
import { HIDDEN } from "./hidden_characters.ts";

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
