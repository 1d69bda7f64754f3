import { FROM_SECRET, type SimpleCommand } from "../../model.ts";
import { factsOf } from "../../programs/families.ts";
import { carries } from "../../programs/output.ts";
import { isSecret } from "../../programs/secrets.ts";

const SENDS = factsOf("sends");

/** Whether a sender is given a secret: piped in, in an argument, or in a file that it names. */
export function sendsSecret(command: SimpleCommand): boolean {
  if (command.stdin?.secret || command.inputs?.secret) return true;
  if (carries(command.args, FROM_SECRET)) return true;
  if (command.redirections.some((one) => one.operator === "<" && isSecret(one.target))) return true;
  return SENDS.get(command.name)?.(command).some(isSecret) ?? false;
}
