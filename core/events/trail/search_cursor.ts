import { Buffer } from "node:buffer";
import { Fault } from "../../fault/fault.ts";

/** How many rows match: exactly, or at least. */
export interface Total {
  readonly total: number;
  readonly exact: boolean;
}

/** Where a query continues: below a number, with the total of the first page; null before that is known. */
export interface Cursor {
  readonly before: number;
  readonly total: Total | null;
}

/** A cursor as callers get it. It carries the total, so any instance can serve the next page without counting. */
export function cursorText({ before, total }: Cursor): string {
  const counted = total === null ? "" : `,${total.total}${total.exact ? "" : "+"}`;
  return Buffer.from(`${before}${counted}`).toString("base64url");
}

const CURSOR = /^([1-9]\d{0,15})(?:,(0|[1-9]\d{0,15})(\+?))?$/;

/**
 * Reads a cursor. Cursors of earlier versions have no total, so counting starts there.
 * @throws {Fault} VALIDATION_FAILED
 */
export function readCursor(text: string, head: number): Cursor {
  const [, position, counted, more] = CURSOR.exec(Buffer.from(text, "base64url").toString()) ?? [];
  const before = Number(position);
  const total = counted === undefined ? null : { total: Number(counted), exact: more === "" };
  const cursor = { before, total };
  if (position !== undefined && before <= head && cursorText(cursor) === text) return cursor;
  throw new Fault(
    "VALIDATION_FAILED",
    "The cursor is not from this list. Send the `cursor` of a previous response.",
    {
      issues: [{ path: "query.cursor", message: "is not a cursor of this list" }],
    },
  );
}
