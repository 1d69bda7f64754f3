/**
 * The positions at which a spreadsheet may start a formula, full-width signs included: at the beginning, and
 * after a separator, because many locales split cells at semicolons and then ignore quotes.
 */
const FORMULA = /^(?=[\t\r\n])|(?<=^|[;\t\r\n])(?=[ \u00a0"]*[=+\-@＝＋－＠])/g;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One line of CSV with its CRLF (RFC 4180). Null is an empty field. Audit rows contain text from callers, so a
 * `'` precedes whatever a spreadsheet would run as a formula. `own` fields, which Relay writes itself, stay unchanged:
 * a `'` would corrupt the base64 of a proof.
 */
export function csvRow(
  fields: readonly (string | number | boolean | null)[],
  ...own: readonly string[]
): string {
  return `${[...fields.map(writeField), ...own].join(",")}\r\n`;
}

function writeField(field: string | number | boolean | null): string {
  if (field === null) return "";
  if (typeof field !== "string") return String(field);
  const text = field.replace(FORMULA, "'");
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
