/**
 * Where spreadsheets take a text for a formula, also with the full-width characters: at its beginning, and,
 * because those of half the world part cells at semicolons and then know no quotes, behind what may part it.
 */
const FORMULA = /^(?=[\t\r\n])|(?<=^|[;\t\r\n])(?=[ \u00a0"]*[=+\-@＝＋－＠])/g;
const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One line of CSV, with its CRLF, as RFC 4180 has it. Null is an empty field. A text that a
 * spreadsheet would run as a formula gets a `'` in front, since audit rows hold what callers wrote; what is
 * `base64` stays as it is, for a proof that begins with a sign is another one with a `'`.
 */
export function csvRow(
  fields: readonly (string | number | boolean | null)[],
  ...base64: readonly string[]
): string {
  return `${[...fields.map(writeField), ...base64].join(",")}\r\n`;
}

function writeField(field: string | number | boolean | null): string {
  if (field === null) return "";
  if (typeof field !== "string") return String(field);
  const text = field.replace(FORMULA, "'");
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
