import { newCommand, once, type SimpleCommand } from "../../model.ts";
import { isRehearsal } from "../../programs/arguments.ts";

const GLOBAL_VALUED = new Set([
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--exec-path",
  "--config-env",
  "--super-prefix",
]);

/** Where the subcommand stands, whatever options stand before it. */
function verbPlace({ args }: SimpleCommand): number {
  let i = 0;
  while (i < args.length && args[i]!.startsWith("-")) i += GLOBAL_VALUED.has(args[i]!) ? 2 : 1;
  return i;
}

export const verbOf = (command: SimpleCommand): string =>
  (command.args[once(command, verbPlace)] ?? "").toLowerCase();

/** Git's subcommand with its own arguments. */
function gitCall(command: SimpleCommand): { call: SimpleCommand; rest: string[] } {
  const args = command.args.slice(once(command, verbPlace) + 1);
  return {
    call: newCommand({ ...command, args }),
    rest: args.filter((arg) => !arg.startsWith("-")),
  };
}

type GitMatch = (call: SimpleCommand, rest: readonly string[]) => boolean;

export const GIT = ["git", "hub"];

/** Asks about the subcommand's own arguments; those alone tell whether it is a rehearsal. */
export const inGit = (match: GitMatch) => (command: SimpleCommand): boolean => {
  const { call, rest } = once(command, gitCall);
  return match(call, rest) && !isRehearsal(call);
};
