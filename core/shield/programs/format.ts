import { BudgetSpent } from "../interpreter/budget.ts";
import { decodeEscapes } from "../code/decode.ts";
import { MAX_EXPANDED_CHARS } from "../interpreter/limits.ts";

/** The output of `echo`; null where shells differ. */
export function writeEcho(args: readonly string[]): string | null {
  let from = 0;
  while (ECHO_OPTIONS.test(args[from] ?? "")) from++;
  const options = args.slice(0, from);
  const text = args.slice(from).join(" ") + (options.some((arg) => arg.includes("n")) ? "" : "\n");
  // sh's echo resolves escapes without being asked to; bash's does so with -e.
  if (options.some((arg) => arg.includes("E"))) return text;
  return text.includes("\\c") ? null : decodeEscapes(text);
}

const ECHO_OPTIONS = /^-[neE]+$/;

/** The output of `printf`; null where it is not computed here: widths, dates, `\c`. */
export function writeFormat(args: readonly string[]): string | null {
  const from = args[0] === "--" ? 1 : args[0] === "-v" ? 2 : 0;
  const values = args.slice(from + 1);
  const format = decodeEscapes(args[from] ?? "");
  if (args[from]?.includes("\\c")) return null;
  let out = "";
  for (let next = 0;;) {
    const before = next;
    for (let i = 0; i < format.length; i++) {
      if (format[i] !== "%") {
        out += format[i];
        continue;
      }
      const start = ++i;
      while ("-+ #0123456789.".includes(format[i] ?? "?")) i++;
      const kind = format[i] ?? "";
      if (i > start && !"diuxXo".includes(kind)) return null;
      if (kind === "%") out += "%";
      else if (kind === "b") {
        const value = values[next++] ?? "";
        if (value.includes("\\c")) return null;
        out += decodeEscapes(value);
      } else if (kind === "c") out += (values[next++] ?? "").slice(0, 1);
      else if (kind === "x") out += (Number(values[next++] ?? "0") || 0).toString(16);
      else if (kind === "o") out += (Number(values[next++] ?? "0") || 0).toString(8);
      else if (kind !== "" && "sdiu".includes(kind)) out += values[next++] ?? "";
      else return null;
    }
    if (out.length > MAX_EXPANDED_CHARS) throw new BudgetSpent();
    if (next >= values.length || next === before) return out;
  }
}
