import { hasFlag, operands, optionValues } from "./arguments.ts";
import { type SimpleCommand, UNKNOWN } from "../model.ts";

/** The output of a program that copies parts of its input; null where it is not computed here. */
export function copyText(command: SimpleCommand, text: string): string | null {
  switch (command.name) {
    case "head":
    case "tail":
      return takeText(command, text);
    case "tac":
      return isBare(command) ? linesOf(text).reverse().join("") : null;
    case "sort":
      // Which line comes first depends on the language.
      return isBare(command) && linesOf(text).length === 1 ? text : null;
    case "uniq":
      return isBare(command)
        ? linesOf(`${text}\n`).filter((line, i, lines) => line !== lines[i - 1]).join("")
        : null;
    case "cat":
      return hasFlag(command, "AbeEnstTv", "number", "show-all") ? null : text;
    case "nl":
      return null;
    case "dd":
      return command.args.every((arg) => /^(if|of|status)=/.test(arg)) ? text : null;
    default:
      return text;
  }
}

/** Without options, and with one file at most. */
function isBare(command: SimpleCommand): boolean {
  return command.args.length === operands(command).length && command.args.length < 2;
}

/** The lines of a text, each with its end. */
const linesOf = (text: string): string[] => text.split(/(?<=\n)/);

/** `head -2`, `head -c 5`, `tail -n +3`. */
function takeText(command: SimpleCommand, text: string): string | null {
  const bytes = optionValues(command, "-c", "--bytes")[0];
  const short = command.args.find((arg) => /^-\d+$/.test(arg))?.slice(1);
  const count = bytes ?? optionValues(command, "-n", "--lines")[0] ?? short ?? "10";
  if (!/^[-+]?\d{1,9}$/.test(count) || hasFlag(command, "vfFrsz")) return null;
  if (bytes !== undefined && (text.includes(UNKNOWN) || !isAscii(text))) return null;
  const pieces = bytes === undefined ? linesOf(text) : [...text];
  const number = Number(count);
  const taken = command.name === "head"
    ? pieces.slice(0, number)
    : count.startsWith("+")
    ? pieces.slice(Math.max(0, number - 1))
    : number === 0
    ? []
    : pieces.slice(-Math.abs(number));
  return taken.join("");
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}
