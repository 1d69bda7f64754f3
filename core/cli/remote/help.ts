import { EVERYWHERE, EXITS, type Option, type RemoteCommand } from "./command.ts";
import { GROUPS } from "./table.ts";

/** How a command is called. */
export const usageOf = ({ name, takes, rest, options }: RemoteCommand): string =>
  [
    `relay ${name}`,
    ...takes.map((what) => what.endsWith("?") ? `[${what.slice(0, -1)}]` : `<${what}>`),
    ...(options.length > 0 ? ["[options]"] : []),
    ...(rest === undefined ? [] : [`-- <${rest}>`]),
  ].join(" ");

/** An option as the help shows it. */
export const optionText = ({ name, letter, value }: Option): string =>
  `${letter === undefined ? "" : `-${letter}, `}--${name}${
    value === undefined ? "" : ` <${value}>`
  }`;

/** The exit codes of a command; its own meaning of a code replaces the general one. */
function exitsOf({ exits = [] }: RemoteCommand): readonly (readonly [string, string])[] {
  const own = new Map(exits);
  const general = own.has("any") ? EXITS.filter(([code]) => code === "2") : EXITS;
  return [...new Map([...general, ...exits])];
}

/** The help of one command. */
export const commandHelp = (command: RemoteCommand): string =>
  `relay ${command.name}: ${command.about}

Usage:
  ${usageOf(command)}

Options:
${columns([...command.options, ...EVERYWHERE].map((option) => [optionText(option), option.about]))}

Examples:
${command.examples.map((line) => `  ${line}`).join("\n")}

Exit codes:
${columns(exitsOf(command))}`;

/** The help of a group of commands. */
export const groupHelp = (group: string, commands: readonly RemoteCommand[]): string =>
  `relay ${group}: ${GROUPS[group]}

Usage:
${columns(commands.map((command) => [usageOf(command), command.about]))}

\`relay ${group} <command> --help\` describes one command.`;

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length)) + 3;
  return rows.map(([name, text]) => `  ${name.padEnd(width)}${text}`).join("\n");
}
