import { canonicalJson } from "../codec/codec.ts";
import { Fault } from "../fault/fault.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * Refuses changes of read-only fields; a record that was read can be sent back. `growing` names figures that only
 * grow: an earlier value of such a figure is no change.
 * @throws {Fault} VALIDATION_FAILED with each field that differs
 */
export function mustMatchRecord(
  given: Fields,
  record: object,
  growing: readonly string[] = [],
): void {
  const now = record as Fields;
  const message = "is read-only and differs from the record";
  const issues = Object.keys(given)
    .filter((name) => !isSame(given[name], now[name], growing.includes(name)))
    .map((name) => ({ path: `body.${name}`, message }));
  const [first] = issues;
  if (first === undefined) return;
  throw new Fault("VALIDATION_FAILED", `${first.path} ${message}.`, { issues });
}

function isSame(given: unknown, now: unknown, grows: boolean): boolean {
  if (given === undefined || canonicalJson([given]) === canonicalJson([now])) return true;
  if (!grows || now === null) return false;
  return given === null || typeof given === typeof now && (given as number) < (now as number);
}
