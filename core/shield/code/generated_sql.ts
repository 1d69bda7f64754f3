import { UNKNOWN } from "../model.ts";

/** Beginnings of statements that a query may write: `select 'drop table ' || name || ';'`. */
const STATEMENT = /'\s*(?:drop|truncate|delete|alter|update|grant|revoke|kill)\s[^']*'/gi;

/** The statements that a query writes into its result, with what it fills in unknown; null for none. */
export function generatedSql(text: string): string | null {
  const found = text.match(STATEMENT);
  return found === null
    ? null
    : found.map((literal) => `${literal.slice(1, -1).replaceAll(/%\w*/g, "x")} ${UNKNOWN};\n`).join(
      "",
    );
}
