import { BudgetSpent } from "./budget.ts";
import { MAX_BRACE_WORDS } from "./limits.ts";

/**
 * Expands the first brace expansion of a raw word, given where it stands: `a{b,c}d` to `abd`, `acd`.
 * Null where it is no expansion, or a sequence that grows past the bound.
 * @throws {BudgetSpent} for more choices than that.
 */
export function expandBraces(raw: string, start: number, end: number): string[] | null {
  const inner = raw.slice(start + 1, end - 1);
  const choices = splitChoices(inner) ?? countSequence(inner);
  if (choices === null) return null;
  if (choices.length > MAX_BRACE_WORDS) throw new BudgetSpent();
  const head = raw.slice(0, start);
  const tail = raw.slice(end);
  return choices.map((choice) => head + choice + tail);
}

function splitChoices(inner: string): string[] | null {
  const choices: string[] = [];
  let depth = 0;
  let quote = "";
  let from = 0;
  for (let i = 0; i < inner.length; i++) {
    const c = inner[i];
    if (quote !== "") {
      if (c === "\\" && quote === '"') i++;
      else if (c === quote) quote = "";
    } else if (c === "\\") i++;
    else if (c === "'" || c === '"' || c === "`") quote = c;
    else if (c === "{" || c === "(") depth++;
    else if (c === "}" || c === ")") depth--;
    else if (c === "," && depth === 0) {
      choices.push(inner.slice(from, i));
      from = i + 1;
    }
  }
  if (choices.length === 0) return null;
  choices.push(inner.slice(from));
  return choices;
}

function countSequence(inner: string): string[] | null {
  const [first, last, step = "1", extra] = inner.split("..");
  if (first === undefined || last === undefined || extra !== undefined) return null;
  const letters = first.length === 1 && last.length === 1 && !isInteger(first);
  if (!letters && !(isInteger(first) && isInteger(last))) return null;
  const from = letters ? first.charCodeAt(0) : Number(first);
  const to = letters ? last.charCodeAt(0) : Number(last);
  const by = Math.max(1, Math.abs(Number(step)) || 1);
  if (Math.abs(to - from) / by >= MAX_BRACE_WORDS) return null;
  const words: string[] = [];
  for (let at = from; from <= to ? at <= to : at >= to; at += from <= to ? by : -by) {
    words.push(letters ? String.fromCharCode(at) : String(at));
  }
  return words;
}

function isInteger(text: string): boolean {
  const digits = text.startsWith("-") ? text.slice(1) : text;
  if (digits === "" || digits.length > 9) return false;
  for (const c of digits) if (c < "0" || c > "9") return false;
  return true;
}
