import {
  EVERYWHERE,
  EXITS,
  type Option,
  type RemoteCommand,
} from "../../../core/cli/remote/command.ts";
import { optionText, usageOf } from "../../../core/cli/remote/help.ts";
import { GROUPS, REMOTE_COMMANDS } from "../../../core/cli/remote/table.ts";

const START = "<!-- from the table of commands -->";
const END = "<!-- end of the table of commands -->";

/** The page docs/cli.md with its commands written anew from their table. */
export function withCommands(page: string): string {
  const [before, rest] = page.split(START);
  const [, after] = rest!.split(END);
  return `${before}${START}\n\n${commandsText()}\n${END}${after}`;
}

function commandsText(): string {
  const groups = Object.entries(GROUPS).map(([group, about]) => {
    const commands = REMOTE_COMMANDS.filter(({ name }) => name.split(" ")[0] === group);
    const title = `${about.charAt(0).toUpperCase()}${about.slice(1)}.`;
    return `### relay ${group}\n\n${title}\n\n${commands.map(commandText).join("\n")}`;
  });
  return [
    ...groups,
    `### Options of every command\n\n${list(EVERYWHERE)}`,
    `### Exit codes\n\n${EXITS.map(exitText).join("\n")}\n`,
  ].join("\n");
}

const commandText = (command: RemoteCommand): string => {
  const { about, options, exits = [], examples } = command;
  const parts = [
    `\`${usageOf(command)}\``,
    about,
    ...(options.length === 0 ? [] : [list(options).trimEnd()]),
    ...(exits.length === 0 ? [] : [`Exit codes:\n\n${exits.map(exitText).join("\n")}`]),
    `\`\`\`sh\n${examples.join("\n")}\n\`\`\``,
  ];
  return `${parts.join("\n\n")}\n`;
};

const list = (options: readonly Option[]): string =>
  `${options.map((option) => `- \`${optionText(option)}\`: ${option.about}`).join("\n")}\n`;

const exitText = ([code, meaning]: readonly [string, string]): string =>
  `- ${code === "any" ? "any other" : `\`${code}\``}: ${meaning}`;
