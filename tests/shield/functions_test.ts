import { deepStrictEqual as deq } from "node:assert/strict";
import { inspectCommand } from "../../core/shield/inspect.ts";

/** A redirection, and the rule that finds it behind any command. */
const REDIRECTIONS: readonly (readonly [string, string])[] = [
  ["> /dev/sda", "disks.redirect_to_device"],
  [">> /etc/passwd", "persistence.accounts_file"],
  ["< ~/.ssh/id_rsa", "credentials.read_key_in"],
  ["< ~/.local/state/relay-agent/credential.json", "credentials.agent_state"],
];

/** Where a function's redirection may stand. */
const FORMS: readonly ((redirection: string) => string)[] = [
  (to) => `f() { cat; }; f ${to}`,
  (to) => `f() { cat; }; ${to} f`,
  (to) => `f() { cat; }; f a b ${to} | wc`,
  (to) => `f() { cat; }; x=$(f ${to})`,
  (to) => `f() { cat; } ${to}; f`,
  (to) => `g() { cat; }; f() { g ${to}; }; f`,
];

Deno.test("inspectCommand: a redirection of a function is judged as one of any command", () => {
  for (const [redirection, rule] of REDIRECTIONS) {
    for (const form of FORMS) {
      const text = form(redirection);
      const { rule_ids, verdict } = inspectCommand(text);
      deq([text, rule_ids.includes(rule), verdict === "allow"], [text, true, false]);
    }
  }
});

Deno.test("inspectCommand: what a function writes to a file is known when the file runs", () => {
  const { verdict } = inspectCommand("f() { echo 'rm -rf /'; }; f > x.sh; sh x.sh");
  deq(verdict, "deny");
  deq(inspectCommand("f() { echo hello; }; f > x.txt; cat x.txt").verdict, "allow");
});
