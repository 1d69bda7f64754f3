import type { ShieldResult } from "./result.ts";

/** Placeholder until the walk is joined to the rules; the real one replaces this file. */
export function inspectCommand(
  command: string,
  _context: { labels?: Record<string, string> } = {},
): ShieldResult {
  const bad = /rm -rf \/|\| *(ba)?sh\b/.test(command);
  return {
    verdict: bad ? "deny" : "allow",
    risk_score: bad ? 100 : 0,
    threats: bad ? ["x"] : [],
    layer: "structure",
    rule_ids: [],
    explanation: "",
    safer_alternative: null,
    span: null,
  };
}
