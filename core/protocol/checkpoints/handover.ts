import type { KeyObject } from "node:crypto";
import { keyText, type NoteKey, readKey, signatureLine, signNote, verifiesNote } from "./note.ts";

/**
 * How the key of a log handed over to the next one: a note that both have signed, so that each vouches for
 * the other. Nobody else can put a key before or behind them.
 */
export interface Handover {
  readonly from: NoteKey;
  readonly to: NoteKey;
  /** How many rows the log had then: `from` signs for no more. */
  readonly rows: number;
}

type Signer = NoteKey & { readonly privateKey: KeyObject };

const HANDOVER =
  /^(\S+)\nkey (\S+)\nnext (\S+)\nrows (0|[1-9]\d{0,14})\ntime \S+\n\n— \S+ \S+\n— \S+ \S+\n$/;

/** Writes a hand-over; `time` is ISO 8601. */
export function signHandover(from: Signer, to: Signer, rows: number, time: string): string {
  const text = `${from.name}\nkey ${keyText(from)}\nnext ${
    keyText(to)
  }\nrows ${rows}\ntime ${time}\n`;
  return signNote(text, from, from.privateKey) + signatureLine(text, to, to.privateKey);
}

/** What a hand-over says, whoever signed it; null for another text. */
export function readHandover(note: string): Handover | null {
  const [, origin, first = "", next = "", rows] = HANDOVER.exec(note) ?? [];
  const from = readKey(first), to = readKey(next);
  if (from === null || to === null || from.name !== origin || to.name !== origin) return null;
  return { from, to, rows: Number(rows) };
}

/** The hand-overs that lead to a key, oldest first; null when one is not signed by both, or leads elsewhere. */
export function readChain(notes: readonly string[], last: string): Handover[] | null {
  const chain: Handover[] = [];
  for (const note of notes) {
    const handover = readHandover(note);
    if (handover === null) return null;
    const { from, to } = handover;
    const before = chain.at(-1);
    if (before !== undefined && keyText(before.to) !== keyText(from)) return null;
    if (!verifiesNote(note, from) || !verifiesNote(note, to)) return null;
    chain.push(handover);
  }
  const end = chain.at(-1);
  return end === undefined || keyText(end.to) === last ? chain : null;
}
