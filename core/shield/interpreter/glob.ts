import { type Comparing, spendCompare } from "./budget.ts";

/** What a comparison costs besides its characters. */
const CALL_COST = 8;

/**
 * Matches `*`, `?` and `[…]` against a whole name, without backtracking further than one star.
 * @throws {BudgetSpent}
 */
export function matchesGlob(pattern: string, name: string, comparing: Comparing): boolean {
  spendCompare(comparing, CALL_COST);
  let p = 0;
  let n = 0;
  let star = -1;
  let mark = 0;
  while (n < name.length) {
    const step = matchOne(pattern, p, name[n] ?? "", comparing);
    if (pattern[p] === "*") {
      star = p++;
      mark = n;
    } else if (step > 0) {
      p += step;
      n++;
    } else if (star >= 0) {
      p = star + 1;
      n = ++mark;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

/** How many characters of the pattern stand for this one; 0 where they do not. */
function matchOne(pattern: string, at: number, c: string, comparing: Comparing): number {
  spendCompare(comparing, 1);
  const first = pattern[at];
  if (first === undefined || first === "*") return 0;
  if (first === "?") return 1;
  if (first !== "[") return first === c ? 1 : 0;
  const end = pattern.indexOf("]", at + 2);
  spendCompare(comparing, (end < 0 ? pattern.length : end) - at);
  if (end < 0) return first === c ? 1 : 0;
  const negated = pattern[at + 1] === "!" || pattern[at + 1] === "^";
  let found = false;
  for (let i = at + (negated ? 2 : 1); i < end; i++) {
    const low = pattern[i] ?? "";
    if (pattern[i + 1] === "-" && i + 2 < end) {
      if (low <= c && c <= (pattern[i + 2] ?? "")) found = true;
      i += 2;
    } else if (low === c) found = true;
  }
  return found !== negated ? end - at + 1 : 0;
}

/**
 * Matches a path: `*` and `?` stay within one folder, `**` crosses folders, and `folder/**` is the folder
 * too. Two places to go back to are enough. @throws {BudgetSpent}
 */
export function matchesPathGlob(pattern: string, path: string, comparing: Comparing): boolean {
  spendCompare(comparing, CALL_COST);
  if (pattern.endsWith("/**") && path === pattern.slice(0, -3)) return true;
  let p = 0;
  let n = 0;
  let star = -1;
  let starAt = 0;
  let deep = -1;
  let deepAt = 0;
  while (n < path.length) {
    const c = path[n] ?? "";
    const step = c === "/" && pattern[p] === "?" ? 0 : matchOne(pattern, p, c, comparing);
    if (pattern.startsWith("**", p)) {
      deep = p + 2;
      deepAt = n;
      star = -1;
      p = deep;
    } else if (pattern[p] === "*") {
      star = ++p;
      starAt = n;
    } else if (step > 0) {
      p += step;
      n++;
    } else if (star >= 0 && path[starAt] !== "/") {
      p = star;
      n = ++starAt;
    } else if (deep >= 0) {
      star = -1;
      p = deep;
      n = ++deepAt;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}
