import type { KeyObject } from "node:crypto";
import { keyText, type NoteKey, readKey, signatureLine, signNote, verifiesNote } from "./note.ts";

/**
 * The handover from one key of a log to the next: a note signed by both, so that each vouches for the other.
 * Nobody else can insert a key before or after them.
 */
export interface Handover {
  readonly from: NoteKey;
  readonly to: NoteKey;
  /** The rows of the log at that time; `from` signs no later state. */
  readonly rows: number;
}

type Signer = NoteKey & { readonly privateKey: KeyObject };

const HANDOVER =
  /^(\S+)\nkey (\S+)\nnext (\S+)\nrows (0|[1-9]\d{0,14})\ntime \S+\n\n— \S+ \S+\n— \S+ \S+\n$/;

/** Signs a handover; `time` is ISO 8601. */
export function signHandover(from: Signer, to: Signer, rows: number, time: string): string {
  const text = `${from.name}\nkey ${keyText(from)}\nnext ${
    keyText(to)
  }\nrows ${rows}\ntime ${time}\n`;
  return signNote(text, from, from.privateKey) + signatureLine(text, to, to.privateKey);
}

/** Parses a handover without verifying its signatures; null for another text. */
export function readHandover(note: string): Handover | null {
  const [, origin, first = "", next = "", rows] = HANDOVER.exec(note) ?? [];
  const from = readKey(first), to = readKey(next);
  if (from === null || to === null || from.name !== origin || to.name !== origin) return null;
  return { from, to, rows: Number(rows) };
}

/** Verifies the handovers to a key, oldest first; null when a signature is invalid or the chain is broken. */
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
