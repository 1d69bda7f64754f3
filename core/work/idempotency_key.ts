import { hash } from "node:crypto";
import type { Collection, Row } from "../../kv/store/collection.ts";
import { DuplicateError } from "../../kv/engine/errors.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { type Idempotency, keyOfCaller } from "../../kv/records/idempotency.ts";
import { Fault } from "../fault/fault.ts";
import type { Actor } from "../identity/identity.ts";

/** The form of an idempotency key. */
export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * Refuses a malformed key; `path` is where the caller sent it.
 * @throws {Fault} VALIDATION_FAILED
 */
export function checkIdempotencyKey(key: string, path = "headers.idempotency-key"): void {
  if (IDEMPOTENCY_KEY.test(key)) return;
  throw new Fault(
    "VALIDATION_FAILED",
    "The idempotency key must be 1 to 255 visible ASCII characters.",
    {
      issues: [{ path, message: "must be 1 to 255 visible ASCII characters" }],
    },
  );
}

/** The digest that distinguishes a repetition from another call. Digests are stored, so their form is fixed. */
export const digestOfCall = (...parts: readonly (string | number | boolean)[]): string =>
  hash("sha256", parts.join("\n"));

/** A kind of record that holds the keys of calls. A key is in use as long as its record is live. */
export interface KeyRecords<T extends Row> {
  readonly of: Collection<T>;
  /** The unique index by caller and key. */
  readonly index: string;
  readonly idempotencyOf: (record: T) => Idempotency | null;
  /** The details of the record that a caller with another call may see. */
  readonly details: (record: T) => { readonly command_id?: string };
}

/**
 * The record of the caller's earlier call with this key, or null.
 * @throws {Fault} CONFLICT when that was another call
 */
export async function earlierCall<T extends Row>(
  records: KeyRecords<T>,
  db: Reader,
  { id, tenant }: Pick<Actor, "id" | "tenant">,
  { key, digest }: Idempotency,
): Promise<T | null> {
  const earlier = await db.find(records.of, tenant, records.index, keyOfCaller(id, key));
  if (earlier === null || records.idempotencyOf(earlier)?.digest === digest) return earlier;
  throw new Fault(
    "CONFLICT",
    "This idempotency key was already used for another call. Choose a new one.",
    records.details(earlier),
  );
}

/** The error of a call whose key a simultaneous call took first. */
export const keyTaken = <T extends Row>({ of, index }: KeyRecords<T>): DuplicateError =>
  new DuplicateError(of.name, index);

interface OnceSteps<T, Answer> {
  /** Finds the record of an earlier call. */
  readonly find: () => Promise<T | null>;
  /** Answers as that call did. */
  readonly repeat: (earlier: T) => Promise<Answer>;
  /** Makes the call and records its key. @throws {DuplicateError} when a simultaneous call took the key */
  readonly first: () => Promise<Answer>;
}

/** Makes a call once for its key: a repetition, also a simultaneous one, gets the first call's answer. */
export async function once<T extends Row, Answer>(
  { of, index }: KeyRecords<T>,
  { find, repeat, first }: OnceSteps<T, Answer>,
): Promise<Answer> {
  for (;;) {
    const earlier = await find();
    if (earlier !== null) return await repeat(earlier);
    try {
      return await first();
    } catch (error) {
      const taken = error instanceof DuplicateError && error.collection === of.name &&
        error.index === index;
      if (!taken) throw error;
    }
  }
}
