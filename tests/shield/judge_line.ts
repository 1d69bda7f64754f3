import { inspectCommand } from "../../core/shield/shield.ts";

/** Prints what the shield decides about the command in the arguments, and the rules that fire. */
const command = Deno.args.join(" ");
if (command === "") {
  console.error("Give the command, in quotes: deno task judge 'rm -rf /srv'");
  Deno.exit(2);
}
const { verdict, risk_score, rule_ids, explanation } = inspectCommand(command);
console.log(`${verdict}, score ${risk_score}: ${rule_ids.join(", ") || "no rule"}\n${explanation}`);
