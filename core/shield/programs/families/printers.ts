import { LISTED, type SimpleCommand, textFlow, UNKNOWN } from "../../model.ts";
import { operands } from "../arguments.ts";
import type { Family, Printer } from "../family.ts";
import { printsOperand, printsVariables, writtenFlow } from "../flows.ts";
import { writeEcho, writeFormat } from "../format.ts";
import { hasGlob } from "../paths.ts";

/** What `basename path .end` or `dirname path` writes; null with options, or for several paths. */
function writePath({ name, args }: SimpleCommand): string | null {
  const known = args.length <= (name === "basename" ? 2 : 1) &&
    !args.some((arg) => arg.startsWith("-"));
  return known ? `${cutPath(name, args)}\n` : null;
}

function cutPath(name: string, [raw = UNKNOWN, end = ""]: readonly string[]): string {
  const path = /^\/+$/.test(raw) ? "/" : raw.replace(/^(.*[^/])\/+$/s, "$1");
  const at = path.lastIndexOf("/");
  if (name === "dirname") return at < 0 ? "." : at === 0 ? "/" : path.slice(0, at);
  const last = path.slice(at + 1);
  return end !== "" && last.endsWith(end) && last !== end ? last.slice(0, -end.length) : last;
}

/** The number of a process, with the name that was searched. */
const printsProcess: Printer = (command) =>
  textFlow(`${LISTED}${operands(command, FINDER_VALUED).at(-1) ?? ""}\n`);

/** Options of pgrep and pidof whose value is no program's name. */
const FINDER_VALUED = new Set(["-d", "-g", "-G", "-o", "-P", "-s", "-t", "-u", "-U"]);

/** `ls folder/*.log` prints the paths as they are given, `ls` those of this folder; what is in another is not known. */
const listsNames: Printer = (command, incoming) => {
  const paths = operands(command);
  if (!paths.every(hasGlob)) return null;
  return { ...incoming, text: null, paths: paths.length === 0 ? ["./*"] : paths };
};

/** Programs that print their own arguments, or names and places, but not the content of files. */
export const PRINTERS: readonly Family[] = [
  { names: ["echo"], looks: true, prints: ({ args }) => writtenFlow(writeEcho(args)) },
  { names: ["printf"], looks: true, prints: ({ args }) => writtenFlow(writeFormat(args)) },
  {
    names: ["yes"],
    prints: ({ args }) => textFlow(`${args.length === 0 ? "y" : args.join(" ")}\n`),
  },
  { names: ["which"], looks: true, prints: printsOperand },
  { names: ["whereis"], prints: printsOperand },
  {
    names: ["basename", "dirname"],
    looks: true,
    prints: (command) => writtenFlow(writePath(command)),
  },
  { names: ["pwd"], looks: true, prints: () => textFlow(".\n") },
  { names: ["pidof", "pgrep"], prints: printsProcess },
  { names: ["jobs"], prints: () => textFlow(`${UNKNOWN}\n`) },
  { names: ["mktemp"], prints: () => textFlow(`/tmp/${UNKNOWN}\n`) },
  { names: ["exa", "eza", "ls", "lsd"], prints: listsNames },
  { names: ["printenv"], prints: printsVariables },
  {
    names: ["dir", "gci", "get-childitem"],
    looks: true,
    prints: (command, incoming) => ({ ...incoming, text: null, paths: operands(command) }),
  },
  {
    names: [
      "df",
      "du",
      "exa",
      "eza",
      "la",
      "ll",
      "ls",
      "lsd",
      "namei",
      "readlink",
      "realpath",
      "stat",
    ],
    looks: true,
  },
];
