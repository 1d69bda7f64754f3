import { type Options, type Parameters, parseArguments, UsageError } from "./arguments.ts";
import { asksForHelp } from "./help.ts";

/** A command that does one thing and ends. */
interface Command<Text extends string, List extends string, Switch extends string>
  extends Parameters<Text, List, Switch> {
  readonly name: string;
  readonly help: string;
  /**
   * Does the work; may return an exit code other than 0.
   * @throws {UsageError} when the arguments do not fit together
   */
  run(
    options: Options<Text, List, Switch>,
    ...positional: readonly string[]
  ): Promise<number | void> | void;
}

/**
 * Runs a command, or prints its help. Resolves to the exit code: 0, or the one that the command returned; 1 when
 * it failed; 2 for wrong arguments.
 */
export async function runCommand<
  const Text extends string = never,
  const List extends string = never,
  const Switch extends string = never,
>(command: Command<Text, List, Switch>, args: readonly string[]): Promise<number> {
  const { name, help } = command;
  if (asksForHelp(args)) {
    console.log(help);
    return 0;
  }
  try {
    const { options, positional } = await parseArguments(command, args);
    return await command.run(options, ...positional) ?? 0;
  } catch (error) {
    if (error instanceof UsageError) {
      console.error(`${error.message} See: relay ${name} --help`);
      return 2;
    }
    console.error(`relay: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}
