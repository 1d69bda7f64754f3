import { Buffer } from "node:buffer";
import { Fault } from "../../fault/fault.ts";

/** How many rows match: no fewer, or exactly so many. */
export interface Total {
  readonly total: number;
  readonly exact: boolean;
}

/** Where a query goes on: below a number, and what its first page counted; null before it has. */
export interface Place {
  readonly before: number;
  readonly total: Total | null;
}

/** A place as callers get it: so a walk counts once, whichever instance each of its pages comes to. */
export function placeText({ before, total }: Place): string {
  const counted = total === null ? "" : `,${total.total}${total.exact ? "" : "+"}`;
  return Buffer.from(`${before}${counted}`).toString("base64url");
}

const PLACE = /^([1-9]\d{0,15})(?:,(0|[1-9]\d{0,15})(\+?))?$/;

/**
 * Reads a cursor. One of an earlier version has no total: its walk counts from there.
 * @throws {Fault} VALIDATION_FAILED
 */
export function readPlace(cursor: string, head: number): Place {
  const [, position, counted, more] = PLACE.exec(Buffer.from(cursor, "base64url").toString()) ?? [];
  const before = Number(position);
  const total = counted === undefined ? null : { total: Number(counted), exact: more === "" };
  const place = { before, total };
  if (position !== undefined && before <= head && placeText(place) === cursor) return place;
  throw new Fault("VALIDATION_FAILED", "The cursor is not one that this list gave.", {
    issues: [{ path: "query.cursor", message: "is not a cursor of this list" }],
  });
}
