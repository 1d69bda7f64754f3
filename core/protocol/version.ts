import program from "../../deno.json" with { type: "json" };

/** This program's version, as deno.json says. */
export const VERSION: string = program.version;

const NUMBERS = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/;

/** True when a version comes before another one. Versions that are not three numbers have no order. */
export function isOlder(version: string, than: string): boolean {
  const [own, other] = [NUMBERS.exec(version), NUMBERS.exec(than)];
  if (own === null || other === null) return false;
  const at = [1, 2, 3].find((part) => own[part] !== other[part]);
  return at !== undefined && Number(own[at]) < Number(other[at]);
}
