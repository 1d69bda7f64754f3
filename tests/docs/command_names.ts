import type { RemoteCommand } from "../../core/cli/remote/command.ts";
import { commandHelp } from "../../core/cli/remote/help.ts";
import { GROUPS, REMOTE_COMMANDS } from "../../core/cli/remote/table.ts";
import { runProgram } from "../../core/cli/cli.ts";

const REMOTE: ReadonlyMap<string, RemoteCommand> = new Map(
  REMOTE_COMMANDS.map((command) => [command.name, command]),
);
const helps = new Map<string, Promise<string | null>>();

/** What is wrong with the names in the words after `relay`: a command or an option that does not exist; null if nothing is. */
export async function commandFault(words: readonly string[]): Promise<string | null> {
  const end = words.indexOf("--");
  const own = end < 0 ? words : words.slice(0, end);
  const [first = "serve", second = ""] = own;
  if (Object.hasOwn(GROUPS, first)) {
    const command = REMOTE.get(`${first} ${second}`) ?? REMOTE.get(first);
    // A group alone shows its help.
    if (command === undefined) return second === "" ? null : `no command ${first} ${second}`;
    return optionFault(own, commandHelp(command));
  }
  const help = await helps.getOrInsertComputed(
    first,
    () => printedHelp(first),
  );
  if (help === null) return `no command ${first}`;
  if (/^[a-z]+$/.test(second) && !RegExp(`\\b${second}\\b`).test(help)) {
    return `no command ${first} ${second}`;
  }
  return optionFault(own, help);
}

function optionFault(words: readonly string[], help: string): string | null {
  for (const word of words.filter((each) => /^--?[a-z]/.test(each))) {
    const [option] = word.split("=");
    const named = RegExp(`(^|[\\s\`,|[(])${option}(?![\\w-])`, "m").test(`${help} --help`);
    if (!named) return `no option ${option}`;
  }
  return null;
}

/** The help that a command prints; null when there is no such command. */
async function printedHelp(name: string): Promise<string | null> {
  const lines: string[] = [];
  const [log, error] = [console.log, console.error];
  console.log = console.error = (line: string) => void lines.push(line);
  try {
    const serving = () => Promise.reject(new Error("nothing is served for a help"));
    const code = await runProgram([name, "--help"], { env: {}, serving });
    return code === 0 ? lines.join("\n") : null;
  } finally {
    [console.log, console.error] = [log, error];
  }
}
