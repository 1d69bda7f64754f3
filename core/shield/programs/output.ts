import { hasFlag, operands } from "./arguments.ts";
import {
  type Flow,
  type FROM_NETWORK,
  type FROM_SECRET,
  NOTHING,
  once,
  type SimpleCommand,
} from "../model.ts";
import { isAccounts } from "./bulk.ts";
import { factsOf } from "./families.ts";
import { opaque } from "./flows.ts";
import { isSecret } from "./secrets.ts";
import type { ReadFile } from "../interpreter/inner.ts";

const PRINTS = factsOf("prints");
const OUTPUT = factsOf("output");
const READS = factsOf("reads");
const DUMPS = factsOf("dumps");

/** The output of a command, as far as it can be told without running it. */
export function computeOutput(command: SimpleCommand, readFile: ReadFile): Flow {
  const incoming = command.stdin ?? NOTHING;
  const printed = PRINTS.get(command.name)?.(command, incoming, readFile) ?? null;
  if (printed !== null) return printed;
  const origin = OUTPUT.get(command.name);
  if (origin === "network") return { ...opaque(incoming), network: true };
  const read = readsSecret(command) || (command.inputs?.secret ?? false);
  const bulk = incoming.bulk || readsBulk(command) || (command.inputs?.bulk ?? false);
  const isDecoded = origin === "decoded" ||
    (origin === "decoded_by_option" && hasFlag(command, "d", "decompress", "uncompress"));
  return {
    ...opaque(incoming),
    decoded: incoming.decoded || isDecoded,
    secret: incoming.secret || read,
    bulk,
  };
}

/** Programs that show or copy the files that they are given. */
export const READERS: readonly string[] = [...READS]
  .flatMap(([name, reads]) => reads === "elsewhere" ? [] : [name]);

/** Whether a command opens a file of credentials. */
export function readsSecret(command: SimpleCommand): boolean {
  return once(command, opensSecret);
}

function opensSecret(command: SimpleCommand): boolean {
  const reads = READS.get(command.name);
  if (reads === undefined) return false;
  for (const arg of typeof reads === "function" ? reads(command) : command.args) {
    if (isSecret(arg.startsWith("if=") ? arg.slice(3) : arg)) return true;
  }
  return command.redirections.some((one) => one.operator === "<" && isSecret(one.target));
}

/** Whether a command writes out a database, a container, or whole folders of the system or of people. */
function readsBulk(command: SimpleCommand): boolean {
  return DUMPS.get(command.name)?.(command) ?? operands(command).some(isAccounts);
}

/** Whether an argument carries something of that origin. */
export function carries(
  args: readonly string[],
  origin: typeof FROM_NETWORK | typeof FROM_SECRET,
): boolean {
  return args.some((arg) => arg.includes(origin));
}
